"""German words: ``key: form gender plural`` for nouns, ``key: infinitive 3sg past`` for verbs.

Genders are ``m f n``; ``m*`` takes -(e)n outside the nominative, ``m=`` declines like an adjective.
A fourth column of a verb is its separable prefix, or ``dat`` where it governs the dative. An
adjective's second form, after a slash, is the stem that takes endings.
"""

NOUNS = """
mother: Mutter f Mütter
father: Vater m Väter
child: Kind n Kinder
grandmother: Großmutter f Großmütter
baby: Baby n Babys
brother: Bruder m Brüder
sister: Schwester f Schwestern
uncle: Onkel m Onkel
family: Familie f Familien
house: Haus n Häuser
bed: Bett n Betten
garden: Garten m Gärten
door: Tür f Türen
window: Fenster n Fenster
letter: Brief m Briefe
dog: Hund m Hunde
cat: Katze f Katzen
toy: Spielzeug n Spielzeuge
cook: Koch m Köche
waiter: Kellner m Kellner
guest: Gast m Gäste
kitchen: Küche f Küchen
restaurant: Restaurant n Restaurants
soup: Suppe f -
rice: Reis m -
bread: Brot n -
cheese: Käse m -
meal: Mahlzeit f Mahlzeiten
cake: Kuchen m Kuchen
knife: Messer n Messer
plate: Teller m Teller
bottle: Flasche f Flaschen
spoon: Löffel m Löffel
apple_tree: Apfelbaum m Apfelbäume
teacher: Lehrerin f Lehrerinnen
pupil: Schüler m Schüler
school: Schule f Schulen
lesson: Unterrichtsstunde f Unterrichtsstunden
book: Buch n Bücher
question: Frage f Fragen
answer: Antwort f Antworten
exam: Prüfung f Prüfungen
classroom: Klassenzimmer n Klassenzimmer
pencil: Bleistift m Bleistifte
library: Bibliothek f Bibliotheken
word: Wort n Wörter
farmer: Bauer m* Bauern
cow: Kuh f Kühe
horse: Pferd n Pferde
chicken: Huhn n Hühner
pig: Schwein n Schweine
field: Feld n Felder
barn: Scheune f Scheunen
milk: Milch f -
egg: Ei n Eier
harvest: Ernte f Ernten
tractor: Traktor m Traktoren
potato: Kartoffel f Kartoffeln
fence: Zaun m Zäune
doctor: Arzt m Ärzte
nurse: Krankenschwester f Krankenschwestern
patient: Patient m* Patienten
hospital: Krankenhaus n Krankenhäuser
medicine: Medikament n Medikamente
disease: Krankheit f Krankheiten
wound: Wunde f Wunden
heart: Herz n Herzen
operation: Operation f Operationen
virus: Virus n Viren
vaccine: Impfstoff m Impfstoffe
ambulance: Krankenwagen m Krankenwagen
fisherman: Fischer m Fischer
captain: Kapitän m Kapitäne
sailor: Matrose m* Matrosen
ship: Schiff n Schiffe
boat: Boot n Boote
sea: Meer n Meere
harbour: Hafen m Häfen
wave: Welle f Wellen
fish: Fisch m Fische
net: Netz n Netze
island: Insel f Inseln
lighthouse: Leuchtturm m Leuchttürme
whale: Wal m Wale
merchant: Händler m Händler
customer: Kunde m* Kunden
manager: Managerin f Managerinnen
worker: Arbeiter m Arbeiter
company: Firma f Firmen
market: Markt m Märkte
shop: Laden m Läden
price: Preis m Preise
money: Geld n -
product: Produkt n Produkte
contract: Vertrag m Verträge
factory: Fabrik f Fabriken
bank: Bank f Banken
job: Stelle f Stellen
president: Präsident m* Präsidenten
minister: Ministerin f Ministerinnen
citizen: Bürger m Bürger
voter: Wähler m Wähler
parliament: Parlament n Parlamente
party: Partei f Parteien
election: Wahl f Wahlen
reform: Reform f Reformen
speech: Rede f Reden
government: Regierung f Regierungen
tax: Steuer f Steuern
journalist: Journalistin f Journalistinnen
newspaper: Zeitung f Zeitungen
soldier: Soldat m* Soldaten
general: General m Generäle
king: König m Könige
queen: Königin f Königinnen
enemy: Feind m Feinde
army: Armee f Armeen
castle: Schloss n Schlösser
sword: Schwert n Schwerter
battle: Schlacht f Schlachten
bridge: Brücke f Brücken
crown: Krone f Kronen
peace: Frieden m -
weapon: Waffe f Waffen
singer: Sängerin f Sängerinnen
musician: Musiker m Musiker
dancer: Tänzerin f Tänzerinnen
painter: Maler m Maler
audience: Publikum n -
song: Lied n Lieder
violin: Geige f Geigen
piano: Klavier n Klaviere
concert: Konzert n Konzerte
picture: Bild n Bilder
stage: Bühne f Bühnen
theatre: Theater n Theater
poem: Gedicht n Gedichte
player: Spieler m Spieler
coach: Trainer m Trainer
team: Mannschaft f Mannschaften
referee: Schiedsrichter m Schiedsrichter
fan: Fan m Fans
ball: Ball m Bälle
goal: Tor n Tore
match: Spiel n Spiele
stadium: Stadion n Stadien
medal: Medaille f Medaillen
race: Rennen n Rennen
record: Rekord m Rekorde
judge: Richterin f Richterinnen
lawyer: Anwalt m Anwälte
thief: Dieb m Diebe
policeman: Polizist m* Polizisten
witness: Zeuge m* Zeugen
prisoner: Gefangener m= Gefangene
court: Gericht n Gerichte
law: Gesetz n Gesetze
crime: Verbrechen n Verbrechen
trial: Prozess m Prozesse
prison: Gefängnis n Gefängnisse
proof: Beweis m Beweise
ring: Ring m Ringe
scientist: Forscherin f Forscherinnen
professor: Professor m Professoren
engineer: Ingenieur m Ingenieure
experiment: Experiment n Experimente
theory: Theorie f Theorien
machine: Maschine f Maschinen
computer: Computer m Computer
star: Stern m Sterne
planet: Planet m* Planeten
telescope: Teleskop n Teleskope
laboratory: Labor n Labore
result: Ergebnis n Ergebnisse
robot: Roboter m Roboter
data_base: Datenbank f Datenbanken
traveller: Reisender m= Reisende
driver: Fahrer m Fahrer
pilot: Pilot m* Piloten
train: Zug m Züge
bus: Bus m Busse
car: Auto n Autos
plane: Flugzeug n Flugzeuge
station: Bahnhof m Bahnhöfe
airport: Flughafen m Flughäfen
street: Straße f Straßen
ticket: Fahrkarte f Fahrkarten
suitcase: Koffer m Koffer
hotel: Hotel n Hotels
city: Stadt f Städte
hunter: Jäger m Jäger
wolf: Wolf m Wölfe
bear: Bär m* Bären
bird: Vogel m Vögel
snake: Schlange f Schlangen
forest: Wald m Wälder
river: Fluss m Flüsse
mountain: Berg m Berge
tree: Baum m Bäume
flower: Blume f Blumen
storm: Sturm m Stürme
rain: Regen m -
stone: Stein m Steine
nest: Nest n Nester
carpenter: Tischler m Tischler
architect: Architektin f Architektinnen
neighbour: Nachbar m* Nachbarn
wall: Mauer f Mauern
roof: Dach n Dächer
table: Tisch m Tische
chair: Stuhl m Stühle
hammer: Hammer m Hämmer
saw: Säge f Sägen
nail: Nagel m Nägel
wood: Holz n -
tower: Turm m Türme
plan: Plan m Pläne
front_door: Haustür f Haustüren
football_club: Fußballverein m Fußballvereine
tax_law: Steuergesetz n Steuergesetze
fishing_boat: Fischerboot n Fischerboote
wedding_ring: Ehering m Eheringe
school_book: Schulbuch n Schulbücher
animal: Tier n Tiere
vehicle: Fahrzeug n Fahrzeuge
building: Gebäude n Gebäude
tool: Werkzeug n Werkzeuge
instrument: Instrument n Instrumente
food: Essen n -
morning: Morgen m Morgen
evening: Abend m Abende
afternoon: Nachmittag m Nachmittage
winter: Winter m Winter
summer: Sommer m Sommer
autumn: Herbst m Herbste
"""

ADJECTIVES = """
kind: lieb; tired: müde; young: jung; patient: geduldig; strict: streng; strong: stark; small:
klein; happy: glücklich; curious: neugierig; hungry: hungrig; old: alt; wise: weise/weis; quiet:
ruhig; lazy: faul; clever: klug; rich: reich; funny: lustig; poor: arm; large: groß; white: weiß;
empty: leer; warm: warm; soft: weich; wide: breit; green: grün; heavy: schwer; narrow: eng; open:
offen; broken: kaputt; clean: sauber; long: lang; secret: geheim; short: kurz; loyal: treu; black:
schwarz; colourful: bunt; fat: dick; busy: beschäftigt; famous: berühmt; polite: höflich; slow:
langsam; important: wichtig; hot: heiß; expensive: teuer/teur; full: voll; salty: salzig; thin:
dünn; dry: trocken; fresh: frisch; dark: dunkel/dunkl; simple: einfach; cheap: billig; sweet: süß;
huge: riesig; round: rund; sharp: scharf; wooden: hölzern; tall: hochgewachsen; modern: modern;
boring: langweilig; difficult: schwierig; thick: massiv; interesting: interessant; strange:
seltsam; correct: richtig; wrong: falsch; written: schriftlich; bright: hell; noisy: lärmend; red:
rot; foreign: ausländisch; brown: braun; calm: gelassen; wild: wild; fast: schnell; dirty:
schmutzig; pink: rosig; cold: kalt; late: verspätet; low: niedrig; careful: vorsichtig; friendly:
freundlich; sick: krank; weak: schwach; nervous: nervös; bitter: bitter/bittr; dangerous:
gefährlich; rare: selten; serious: ernst; deep: tief; healthy: gesund; urgent: dringend; new: neu;
safe: sicher; brave: mutig; experienced: erfahren; drunk: betrunken; blue: blau; high: hoch/hoh;
silver: silbern; wet: nass; torn: zerrissen; lonely: einsam; grey: grau; honest: ehrlich;
impatient: ungeduldig; ambitious: ehrgeizig; free: frei; fair: fair; useful: nützlich; hard: hart;
powerful: mächtig; popular: beliebt; angry: wütend; undecided: unentschlossen; divided: gespalten;
liberal: liberal; early: früh; radical: radikal; necessary: notwendig; unfair: ungerecht;
critical: kritisch; daily: täglich; wounded: verwundet; cruel: grausam; proud: stolz; beautiful:
schön; defeated: besiegt; golden: golden; bloody: blutig; decisive: entscheidend; uncertain:
unsicher; gifted: begabt; slim: schlank; enthusiastic: begeistert; sad: traurig; fine: edel/edl;
successful: erfolgreich; loud: laut; injured: verletzt; exciting: spannend; incredible:
unglaublich; innocent: unschuldig; independent: unabhängig; complicated: kompliziert; public:
öffentlich; terrible: schrecklich; missing: fehlend; clear: klar; stolen: gestohlen; brilliant:
genial; absent-minded: zerstreut; distant: fern; unknown: unbekannt; surprising: überraschend;
crowded: überfüllt; yellow: gelb; central: zentral; expired: abgelaufen; lost: verloren;
comfortable: bequem; silent: schweigsam; poisonous: giftig; sudden: plötzlich; flat: flach; rusty:
rostig
"""

VERBS = """
love: lieben liebt liebte; hate: hassen hasst hasste; sleep: schlafen schläft schlief; play:
spielen spielt spielte; visit: besuchen besucht besuchte; wash: waschen wäscht wusch; open: öffnen
öffnet öffnete; close: schließen schließt schloss; write: schreiben schreibt schrieb; laugh:
lachen lacht lachte; cry: weinen weint weinte; cook: kochen kocht kochte; eat: essen isst aß;
drink: trinken trinkt trank; cut: schneiden schneidet schnitt; order: bestellen bestellt
bestellte; bring: bringen bringt brachte; taste: probieren probiert probierte; bake: backen backt
backte; serve: servieren serviert servierte; teach: unterrichten unterrichtet unterrichtete; read:
lesen liest las; learn: lernen lernt lernte; ask: stellen stellt stellte; explain: erklären
erklärt erklärte; understand: verstehen versteht verstand; forget: vergessen vergisst vergaß;
repeat: wiederholen wiederholt wiederholte; feed: füttern füttert fütterte; milk: melken melkt
melkte; sell: verkaufen verkauft verkaufte; plant: pflanzen pflanzt pflanzte; plough: pflügen
pflügt pflügte; ride: reiten reitet ritt; collect: sammeln sammelt sammelte; treat: behandeln
behandelt behandelte; examine: untersuchen untersucht untersuchte; heal: heilen heilt heilte;
prescribe: verschreiben verschreibt verschrieb; save: retten rettet rettete; die: sterben stirbt
starb; suffer: leiden leidet litt; recover: genesen genest genas; catch: fangen fängt fing; sail:
segeln segelt segelte; sink: sinken sinkt sank; steer: steuern steuert steuerte; repair:
reparieren repariert reparierte; swim: schwimmen schwimmt schwamm; load: beladen belädt belud;
leave: verlassen verlässt verließ; buy: einkaufen kauft kaufte ein; sign: unterschreiben
unterschreibt unterschrieb; pay: bezahlen bezahlt bezahlte; produce: herstellen stellt stellte
her; offer: anbieten bietet bot an; found: gründen gründet gründete; grow: wachsen wächst wuchs;
work: arbeiten arbeitet arbeitete; hire: einstellen stellt stellte ein; choose: wählen wählt
wählte; criticise: kritisieren kritisiert kritisierte; support: unterstützen unterstützt
unterstützte; promise: versprechen verspricht versprach; deliver: halten hält hielt; reject:
ablehnen lehnt lehnte ab; publish: veröffentlichen veröffentlicht veröffentlichte; resign:
zurücktreten tritt trat zurück; attack: angreifen greift griff an; defend: verteidigen verteidigt
verteidigte; fight: kämpfen kämpft kämpfte; conquer: erobern erobert eroberte; destroy: zerstören
zerstört zerstörte; carry: tragen trägt trug; fear: fürchten fürchtet fürchtete; rule: regieren
regiert regierte; sing: singen singt sang; dance: tanzen tanzt tanzte; paint: malen malt malte;
practise: üben übt übte; compose: komponieren komponiert komponierte; admire: bewundern bewundert
bewunderte; applaud: applaudieren applaudiert applaudierte; hear: hören hört hörte; win: gewinnen
gewinnt gewann; lose: verlieren verliert verlor; train: trainieren trainiert trainierte; run:
laufen läuft lief; score: erzielen erzielt erzielte; kick: treten tritt trat; break: brechen
bricht brach; watch: anschauen schaut schaute an; steal: stehlen stiehlt stahl; arrest: verhaften
verhaftet verhaftete; accuse: anklagen klagt klagte an; question: befragen befragt befragte; find:
finden findet fand; escape: fliehen flieht floh; lie: lügen lügt log; confess: gestehen gesteht
gestand; discover: entdecken entdeckt entdeckte; develop: entwickeln entwickelt entwickelte;
observe: beobachten beobachtet beobachtete; measure: messen misst maß; test: testen testet
testete; prove: beweisen beweist bewies; fail: scheitern scheitert scheiterte; calculate:
berechnen berechnet berechnete; travel: reisen reist reiste; drive: fahren fährt fuhr; arrive:
ankommen kommt kam an; wait: warten wartet wartete; miss: verpassen verpasst verpasste; reach:
erreichen erreicht erreichte; pack: packen packt packte; stop: anhalten hält hielt an; hunt: jagen
jagt jagte; fly: fliegen fliegt flog; climb: besteigen besteigt bestieg; bite: beißen beißt biss;
hide: verstecken versteckt versteckte; fall: fallen fällt fiel; follow: verfolgen verfolgt
verfolgte; see: sehen sieht sah; build: bauen baut baute; draw: zeichnen zeichnet zeichnete; saw:
sägen sägt sägte; help: helfen hilft half dat; need: brauchen braucht brauchte; lift: heben hebt
hob; show: zeigen zeigt zeigte; say: sagen sagt sagte; believe: glauben glaubt glaubte; know:
wissen weiß wusste; hope: hoffen hofft hoffte; think: denken denkt dachte; report: berichten
berichtet berichtete
"""

ADVERBS = """
always: immer; often: oft; rarely: selten; already: schon; still: noch; soon: bald; slowly:
langsam; quickly: schnell; carefully: vorsichtig; quietly: leise; together: zusammen; secretly:
heimlich; alone: allein; again: wieder; suddenly: plötzlich; easily: mühelos; yesterday: gestern;
today: heute; now: jetzt; tomorrow: morgen
"""

# With the case that each governs; `tor` (to a receiver) is the bare dative.
PREPOSITIONS = """
in: in dat; on: auf dat; under: unter dat; near: bei dat; behind: hinter dat; at: an dat; with:
mit dat; withp: mit dat; for: für acc; from: von dat; to: zu dat; through: durch acc; about: über
acc; against: gegen acc; after: nach dat
"""
CONTRACTIONS = "in dem im; an dem am; zu dem zum; zu der zur; von dem vom; bei dem beim"

FUNCTION_WORDS = """
because: weil; when: wenn; when_past: als; although: obwohl; if: falls; before: bevor; while:
während; and: und; but: aber; that: dass; very: sehr; too: zu; will: werden wird; can: können
kann; must: müssen muss; not: nicht; many: viele; he: er; she: sie; it: es; they: sie; two: zwei;
three: drei; four: vier; five: fünf; six: sechs; seven: sieben; eight: acht; nine: neun; ten: zehn
"""

PLACES = """
Vienna: Wien; Beijing: Peking; Rome: Rom; Munich: München; Tokyo: Tokio; Moscow: Moskau; Cairo:
Kairo; Lisbon: Lissabon; Prague: Prag; Geneva: Genf; Germany: Deutschland; Indonesia: Indonesien;
Norway: Norwegen; Italy: Italien
"""

# Written as one word, and with an article of this gender.
ORGANISATIONS = """
Helios_Hospital: Helios-Krankenhaus n; Delta_Bank: Delta-Bank f; Orion_Institute: Orion-Institut
n; Nova_University: Nova-Universität f; Atlas_Club: Atlas-Verein m; Triton_Shipyard: Triton-Werft
f
"""
