"""Indonesian words; ``=`` joins the words of a concept that is written as two."""

NOUNS = """
mother: ibu; father: ayah; child: anak; grandmother: nenek; baby: bayi; brother: abang; sister:
kakak; uncle: paman; family: keluarga; house: rumah; bed: ranjang; garden: taman; door: pintu;
window: jendela; letter: surat; dog: anjing; cat: kucing; toy: mainan; cook: koki; waiter:
pelayan; guest: tamu; kitchen: dapur; restaurant: restoran; soup: sup; rice: nasi; bread: roti;
cheese: keju; meal: hidangan; cake: kue; knife: pisau; plate: piring; bottle: botol; spoon:
sendok; apple_tree: pohon=apel; teacher: guru; pupil: murid; school: sekolah; lesson: pelajaran;
book: buku; question: pertanyaan; answer: jawaban; exam: ujian; classroom: ruang=kelas; pencil:
pensil; library: perpustakaan; word: kata; farmer: petani; cow: sapi; horse: kuda; chicken: ayam;
pig: babi; field: ladang; barn: lumbung; milk: susu; egg: telur; harvest: panen; tractor: traktor;
potato: kentang; fence: pagar; doctor: dokter; nurse: perawat; patient: pasien; hospital:
rumah=sakit; medicine: obat; disease: penyakit; wound: luka; heart: jantung; operation: operasi;
virus: virus; vaccine: vaksin; ambulance: ambulans; fisherman: nelayan; captain: kapten; sailor:
pelaut; ship: kapal; boat: perahu; sea: laut; harbour: pelabuhan; wave: ombak; fish: ikan; net:
jaring; island: pulau; lighthouse: mercusuar; whale: paus; merchant: pedagang; customer:
pelanggan; manager: manajer; worker: pekerja; company: perusahaan; market: pasar; shop: toko;
price: harga; money: uang; product: produk; contract: kontrak; factory: pabrik; bank: bank; job:
pekerjaan; president: presiden; minister: menteri; citizen: warga; voter: pemilih; parliament:
parlemen; party: partai; election: pemilu; reform: reformasi; speech: pidato; government:
pemerintah; tax: pajak; journalist: wartawan; newspaper: surat=kabar; soldier: prajurit; general:
jenderal; king: raja; queen: ratu; enemy: musuh; army: tentara; castle: istana; sword: pedang;
battle: pertempuran; bridge: jembatan; crown: mahkota; peace: perdamaian; weapon: senjata; singer:
penyanyi; musician: musisi; dancer: penari; painter: pelukis; audience: penonton; song: lagu;
violin: biola; piano: piano; concert: konser; picture: lukisan; stage: panggung; theatre: teater;
poem: puisi; player: pemain; coach: pelatih; team: tim; referee: wasit; fan: penggemar; ball:
bola; goal: gol; match: pertandingan; stadium: stadion; medal: medali; race: balapan; record:
rekor; judge: hakim; lawyer: pengacara; thief: pencuri; policeman: polisi; witness: saksi;
prisoner: tahanan; court: pengadilan; law: hukum; crime: kejahatan; trial: sidang; prison:
penjara; proof: bukti; ring: cincin; scientist: ilmuwan; professor: profesor; engineer: insinyur;
experiment: percobaan; theory: teori; machine: mesin; computer: komputer; star: bintang; planet:
planet; telescope: teleskop; laboratory: laboratorium; result: hasil; robot: robot; data_base:
basis=data; traveller: pelancong; driver: sopir; pilot: pilot; train: kereta; bus: bus; car:
mobil; plane: pesawat; station: stasiun; airport: bandara; street: jalan; ticket: karcis;
suitcase: koper; hotel: hotel; city: kota; hunter: pemburu; wolf: serigala; bear: beruang; bird:
burung; snake: ular; forest: hutan; river: sungai; mountain: gunung; tree: pohon; flower: bunga;
storm: badai; rain: hujan; stone: batu; nest: sarang; carpenter: tukang=kayu; architect: arsitek;
neighbour: tetangga; wall: tembok; roof: atap; table: meja; chair: kursi; hammer: palu; saw:
gergaji; nail: paku; wood: kayu; tower: menara; plan: rencana; front_door: pintu=depan;
football_club: klub=bola; tax_law: undang-undang=perpajakan; fishing_boat: perahu=nelayan;
wedding_ring: cincin=kawin; school_book: buku=sekolah; animal: hewan; vehicle: kendaraan;
building: bangunan; tool: alat; instrument: alat=musik; food: makanan; morning: pagi; evening:
malam; afternoon: sore; winter: musim=dingin; summer: musim=panas; autumn: musim=gugur
"""

ADJECTIVES = """
kind: baik; tired: lelah; young: muda; patient: sabar; strict: tegas; strong: kuat; small: kecil;
happy: bahagia; curious: penasaran; hungry: lapar; old: tua; wise: bijak; quiet: tenang; lazy:
malas; clever: cerdas; rich: kaya; funny: lucu; poor: miskin; large: besar; white: putih; empty:
kosong; warm: hangat; soft: lembut; wide: lebar; green: hijau; heavy: berat; narrow: sempit; open:
terbuka; broken: rusak; clean: bersih; long: panjang; secret: rahasia; short: pendek; loyal:
setia; black: hitam; colourful: berwarna-warni; fat: gemuk; busy: sibuk; famous: terkenal; polite:
sopan; slow: lambat; important: penting; hot: panas; expensive: mahal; full: penuh; salty: asin;
thin: encer; dry: kering; fresh: segar; dark: gelap; simple: sederhana; cheap: murah; sweet:
manis; huge: raksasa; round: bulat; sharp: tajam; wooden: kayuan; tall: jangkung; modern: modern;
boring: membosankan; difficult: sulit; thick: tebal; interesting: menarik; strange: aneh; correct:
benar; wrong: salah; written: tertulis; bright: terang; noisy: bising; red: merah; foreign: asing;
brown: cokelat; calm: kalem; wild: liar; fast: cepat; dirty: kotor; pink: jambon; cold: dingin;
late: terlambat; low: rendah; careful: cermat; friendly: ramah; sick: sakit; weak: lemah; nervous:
gugup; bitter: pahit; dangerous: berbahaya; rare: langka; serious: serius; deep: dalam; healthy:
sehat; urgent: mendesak; new: baru; safe: aman; brave: berani; experienced: berpengalaman; drunk:
mabuk; blue: biru; high: tinggi; silver: perak; wet: basah; torn: robek; lonely: kesepian; grey:
kelabu; honest: jujur; impatient: gelisah; ambitious: ambisius; free: bebas; fair: adil; useful:
berguna; hard: keras; powerful: berkuasa; popular: populer; angry: marah; undecided: bimbang;
divided: terpecah; liberal: liberal; early: dini; radical: radikal; necessary: perlu; unfair:
curang; critical: kritis; daily: harian; wounded: terluka; cruel: kejam; proud: bangga; beautiful:
indah; defeated: kalah; golden: emas; bloody: berdarah; decisive: menentukan; uncertain: rapuh;
gifted: berbakat; slim: langsing; enthusiastic: antusias; sad: sedih; fine: halus; successful:
sukses; loud: nyaring; injured: cedera; exciting: seru; incredible: luar=biasa; innocent: lugu;
independent: mandiri; complicated: rumit; public: umum; terrible: mengerikan; missing: hilang;
clear: jelas; stolen: curian; brilliant: brilian; absent-minded: linglung; distant: jauh; unknown:
misterius; surprising: mengejutkan; crowded: ramai; yellow: kuning; central: pusat; expired:
kedaluwarsa; lost: nyasar; comfortable: nyaman; silent: pendiam; poisonous: beracun; sudden:
mendadak; flat: datar; rusty: berkarat
"""

VERBS = """
love: mencintai; hate: membenci; sleep: tidur; play: bermain; visit: mengunjungi; wash: mencuci;
open: membuka; close: menutup; write: menulis; laugh: tertawa; cry: menangis; cook: memasak; eat:
makan; drink: minum; cut: memotong; order: memesan; bring: membawa; taste: mencicipi; bake:
memanggang; serve: menyajikan; teach: mengajar; read: membaca; learn: mempelajari; ask:
mengajukan; explain: menjelaskan; understand: memahami; forget: melupakan; repeat: mengulangi;
feed: memberi=makan; milk: memerah; sell: menjual; plant: menanam; plough: membajak; ride:
menunggangi; collect: mengumpulkan; treat: mengobati; examine: memeriksa; heal: menyembuhkan;
prescribe: meresepkan; save: menyelamatkan; die: meninggal; suffer: menderita; recover: pulih;
catch: menangkap; sail: berlayar; sink: tenggelam; steer: mengemudikan; repair: memperbaiki; swim:
berenang; load: memuat; leave: meninggalkan; buy: membeli; sign: menandatangani; pay: membayar;
produce: memproduksi; offer: menawarkan; found: mendirikan; grow: tumbuh; work: bekerja; hire:
mempekerjakan; choose: memilih; criticise: mengkritik; support: mendukung; promise: menjanjikan;
deliver: menyampaikan; reject: menolak; publish: menerbitkan; resign: mengundurkan=diri; attack:
menyerang; defend: membela; fight: berjuang; conquer: menaklukkan; destroy: menghancurkan; carry:
memikul; fear: menakuti; rule: memerintah; sing: menyanyikan; dance: menari; paint: melukis;
practise: melatih; compose: menggubah; admire: mengagumi; applaud: bertepuk=tangan; hear:
mendengar; win: memenangkan; lose: kehilangan; train: membina; run: berlari; score: mencetak;
kick: menendang; break: memecahkan; watch: menonton; steal: mencuri; arrest: menahan; accuse:
menuduh; question: menginterogasi; find: menemukan; escape: kabur; lie: berbohong; confess:
mengakui; discover: menyingkap; develop: mengembangkan; observe: mengamati; measure: mengukur;
test: menguji; prove: membuktikan; fail: gagal; calculate: menghitung; travel: bepergian; drive:
menyetir; arrive: tiba; wait: menunggu; miss: melewatkan; reach: mencapai; pack: mengemas; stop:
berhenti; hunt: memburu; fly: terbang; climb: mendaki; bite: menggigit; hide: menyembunyikan;
fall: jatuh; follow: mengikuti; see: melihat; build: membangun; draw: menggambar; saw:
menggergaji; help: membantu; need: membutuhkan; lift: mengangkat; show: menunjukkan; say: berkata;
believe: percaya; know: tahu; hope: berharap; think: berpikir; report: melaporkan
"""

ADVERBS = """
always: selalu; often: sering; rarely: jarang; already: sudah; still: masih; soon: segera; slowly:
perlahan; quickly: dengan=cepat; carefully: dengan=hati-hati; quietly: diam-diam; together:
bersama; secretly: sembunyi-sembunyi; alone: sendirian; again: kembali; suddenly: tiba-tiba;
easily: dengan=mudah; yesterday: kemarin; today: hari=ini; now: sekarang; tomorrow: besok
"""

PREPOSITIONS = """
in: di; on: di=atas; under: di=bawah; near: dekat; behind: di=belakang; at: pada; with: dengan;
withp: bersama; for: untuk; from: dari; to: ke; through: melalui; about: tentang; against:
melawan; after: setelah; tor: kepada
"""

FUNCTION_WORDS = """
because: karena; when: ketika; although: meskipun; if: jika; before: sebelum; while: sementara;
and: dan; but: tetapi; that: bahwa; very: sangat; too: terlalu; will: akan; can: bisa; must:
harus; not: tidak; past: telah; this: ini; my: saya; our: kami; many: banyak; he: dia; she: dia;
it: ia; they: mereka; a: sebuah; a_person: seorang; a_animal: seekor; two: dua; three: tiga; four:
empat; five: lima; six: enam; seven: tujuh; eight: delapan; nine: sembilan; ten: sepuluh
"""

PLACES = """
Vienna: Wina; Rome: Roma; Munich: Muenchen; Moscow: Moskwa; Cairo: Kairo; Lisbon: Lisboa; Prague:
Praha; Geneva: Jenewa; Germany: Jerman; China: Tiongkok; Norway: Norwegia; Italy: Italia
"""

ORGANISATIONS = """
Helios_Hospital: Rumah-Sakit=Helios; Delta_Bank: Bank=Delta; Orion_Institute: Institut=Orion;
Nova_University: Universitas=Nova; Atlas_Club: Klub=Atlas; Triton_Shipyard: Galangan=Triton
"""
