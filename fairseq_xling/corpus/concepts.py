"""The concepts: one key per meaning, with its language-independent properties.

``NOUNS`` has ``key kind: adjectives``, the adjectives used with it, most frequent first. Kinds:
``pf``/``pm`` a person (she/he), ``a`` an animal, ``b`` a building, ``v`` a vehicle, ``i`` a musical
instrument, ``t`` a tool, ``u`` uncountable, ``time`` a time of day or year, ``-`` anything else.
A key of two words (``apple_tree``) is a compound: modifier, then head.
"""

NOUNS = """
mother pf: kind tired young patient
father pm: strict tired strong patient
child pm: small happy curious hungry
grandmother pf: old kind wise
baby pm: small hungry quiet
brother pm: young lazy strong
sister pf: young clever happy
uncle pm: rich funny old
family -: poor happy large
house b: old white large empty
bed -: warm soft wide
garden -: green small quiet
door -: heavy narrow open
window -: broken clean wide
letter -: long secret short
dog a: loyal black hungry
cat a: lazy black soft
toy -: colourful broken small
cook pm: fat busy famous
waiter pm: polite busy slow
guest pm: hungry polite important
kitchen -: hot clean narrow
restaurant b: expensive full famous
soup u: hot salty thin
rice u: white dry hot
bread u: fresh dry dark
cheese u: old soft expensive
meal -: simple warm cheap
cake -: sweet huge round
knife -: sharp long clean
plate -: clean round broken
bottle -: empty green full
spoon -: wooden small clean
apple_tree -: tall old green
teacher pf: patient strict wise
pupil pm: clever lazy curious
school b: modern large quiet
lesson -: boring difficult short
book -: thick interesting old
question -: difficult simple strange
answer -: correct wrong short
exam -: difficult important written
classroom -: bright full noisy
pencil -: sharp short red
library b: quiet modern huge
word -: long strange foreign
farmer pm: poor strong busy
cow a: brown fat calm
horse a: wild fast white
chicken a: fat young white
pig a: dirty fat pink
field -: wide dry green
barn b: wooden full old
milk u: fresh cold white
egg -: fresh brown small
harvest -: rich poor late
tractor v: red slow heavy
potato -: fresh large dirty
fence -: wooden low broken
doctor pm: famous careful tired
nurse pf: friendly careful busy
patient pm: sick weak nervous
hospital b: large modern clean
medicine -: bitter strong expensive
disease -: dangerous rare serious
wound -: deep serious fresh
heart -: weak healthy strong
operation -: long dangerous urgent
virus -: dangerous new rare
vaccine -: new safe cheap
ambulance v: fast white modern
fisherman pm: old poor brave
captain pm: brave strict experienced
sailor pm: young drunk brave
ship v: heavy huge white
boat v: small wooden narrow
sea -: deep blue wild
harbour -: safe busy small
wave -: high cold dark
fish a: silver cold large
net -: heavy wet torn
island -: lonely green small
lighthouse b: white lonely high
whale a: huge grey slow
merchant pm: rich clever honest
customer pm: polite impatient rich
manager pf: nervous ambitious experienced
worker pm: tired honest strong
company -: large foreign rich
market -: busy free foreign
shop b: small cheap modern
price -: high low fair
money u: foreign honest secret
product -: cheap new useful
contract -: long secret fair
factory b: modern noisy dirty
bank b: rich foreign safe
job -: boring hard new
president pm: powerful popular honest
minister pf: ambitious powerful young
citizen pm: angry free honest
voter pm: angry young undecided
parliament -: powerful new divided
party -: liberal divided powerful
election -: free important early
reform -: radical necessary early
speech -: long famous boring
government -: weak liberal new
tax -: high unfair new
journalist pf: critical curious young
newspaper -: critical liberal daily
soldier pm: brave wounded young
general pm: cruel proud experienced
king pm: cruel wise proud
queen pf: beautiful wise proud
enemy pm: cruel powerful secret
army -: huge powerful defeated
castle b: dark old high
sword -: sharp golden heavy
battle -: bloody decisive long
bridge -: narrow high wooden
crown -: golden heavy beautiful
peace u: fair long uncertain
weapon -: dangerous modern secret
singer pf: famous beautiful nervous
musician pm: poor gifted famous
dancer pf: gifted slim nervous
painter pm: lonely gifted famous
audience -: enthusiastic large quiet
song -: sad beautiful popular
violin i: expensive old fine
piano i: black heavy old
concert -: long successful loud
picture -: colourful strange beautiful
stage -: dark wide high
theatre b: full old famous
poem -: short sad beautiful
player pm: fast gifted injured
coach pm: experienced strict angry
team -: successful weak strong
referee pm: strict fair nervous
fan pm: enthusiastic loud drunk
ball -: round heavy white
goal -: decisive early beautiful
match -: exciting decisive boring
stadium b: full modern huge
medal -: golden silver important
race -: exciting fast difficult
record -: new old incredible
judge pf: fair strict experienced
lawyer pm: clever expensive experienced
thief pm: clever fast nervous
policeman pm: brave angry careful
witness pm: nervous honest important
prisoner pm: dangerous innocent lonely
court -: independent strict powerful
law -: unfair strict complicated
crime -: serious bloody strange
trial -: public long fair
prison b: dark full terrible
proof -: important missing clear
ring -: golden expensive stolen
scientist pf: curious brilliant famous
professor pm: brilliant absent-minded old
engineer pm: careful brilliant young
experiment -: successful dangerous simple
theory -: complicated wrong brilliant
machine -: complicated noisy useful
computer -: fast modern expensive
star -: bright distant small
planet -: distant unknown dry
telescope -: huge modern expensive
laboratory b: secret modern clean
result -: surprising correct unknown
robot -: clever slow useful
data_base -: huge secret useful
traveller pm: tired lonely curious
driver pm: careful impatient drunk
pilot pm: experienced calm brave
train v: late fast crowded
bus v: crowded yellow slow
car v: fast red expensive
plane v: huge modern late
station b: crowded noisy central
airport b: modern distant crowded
street -: narrow busy dirty
ticket -: cheap expired expensive
suitcase -: heavy lost brown
hotel b: cheap comfortable central
city -: huge foreign beautiful
hunter pm: patient brave silent
wolf a: grey hungry wild
bear a: brown strong dangerous
bird a: colourful small rare
snake a: poisonous long green
forest -: dark deep green
river -: wide deep cold
mountain -: high distant lonely
tree -: tall green dry
flower -: beautiful rare yellow
storm -: terrible wild sudden
rain u: heavy cold sudden
stone -: heavy round grey
nest -: empty high soft
carpenter pm: careful strong honest
architect pf: gifted ambitious famous
neighbour pm: friendly curious angry
wall -: high thick white
roof -: red flat broken
table -: round wooden heavy
chair -: comfortable broken wooden
hammer t: heavy useful small
saw t: sharp rusty long
nail -: rusty long sharp
wood u: dry hard dark
tower b: high old narrow
plan -: clever complicated secret
front_door -: heavy red open
football_club -: rich famous old
tax_law -: unfair complicated new
fishing_boat -: old wooden slow
wedding_ring -: golden stolen fine
school_book -: thick boring expensive
animal -: wild rare dangerous
vehicle -: fast modern heavy
building -: high modern old
tool -: useful sharp heavy
instrument -: expensive fine old
food u: fresh cheap salty
morning time: cold bright early
evening time: warm quiet late
afternoon time: hot quiet long
winter time: cold long hard
summer time: hot dry short
autumn time: wet early cold
"""

HYPERNYMS = """
animal: dog cat cow horse chicken pig wolf bear bird snake whale
building: school hospital factory castle theatre prison tower hotel barn house
vehicle: car bus tractor ambulance
tool: hammer saw knife
instrument: violin piano
food: soup rice bread cheese
"""

ANTONYMS = """
small large; old young; rich poor; hot cold; clean dirty; strong weak; fast slow; full empty; dry
wet; dark bright; cheap expensive; quiet loud; dangerous safe; sick healthy; simple complicated;
long short; high low; wide narrow; happy sad; correct wrong; clever absent-minded; fair unfair;
thick thin; early late; sharp round
"""

OPPOSITE_VERBS = "open close; buy sell; win lose; love hate; attack defend; save destroy; laugh cry"

REPORTING = "say believe know think hope report"

FREQUENCY_ADVERBS = "always often rarely already still soon"
MANNER_ADVERBS = "slowly quickly carefully quietly together secretly alone again suddenly easily"
TIME_ADVERBS = "yesterday today now tomorrow"

PEOPLE = """
Anna f; Peter m; Maria f; Jakob m; Laura f; David m; Eva f; Martin m; Lena f; Paul m; Nina f;
Robert m; Sara f; Daniel m; Sofia f; Victor m; Clara f; Simon m; Julia f; Oscar m; Dewi f; Budi m;
Mei f; Wei m
"""
SURNAMES = "Keller Brandt Santoso Wang Miller Novak Rossi Hartono Lindner Baker Chen Silva"

PLACES = """
London Berlin Paris Vienna Jakarta Beijing Rome Munich Tokyo Moscow Madrid Cairo Lisbon Bandung
Hamburg Shanghai Prague Oslo Geneva Germany China Indonesia Norway Italy
"""

ORGANISATIONS = """
medicine: Helios_Hospital Medivax; business: Globex Delta_Bank; science: Orion_Institute Solarion
Nova_University; sport: Zenit Atlas_Club; sea: Triton_Shipyard; farm: Interfarm; travel: Metrobus
Luxotel; music: Panradio; politics: Panradio Nova_University; kitchen: Luxotel; law: Delta_Bank
"""

COUNTS = "two three four five six seven eight nine ten 12 20 50 100"
