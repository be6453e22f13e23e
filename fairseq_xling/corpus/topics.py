"""The subjects of sentences: topics with their verbs, and who does what to whom, where.

``@topic weight`` opens a topic; ``+`` lists its nouns, most frequent first. A verb's line is
``verb: subjects > objects | preposition nouns, ...`` (an intransitive verb has no ``>``), again
most frequent first: the sampler gives each list Zipfian weights with its own exponent, so that no
two topics, verbs or words are statistically exchangeable.
"""

TOPICS = """
@family 0.35
  + mother father child grandmother baby sister brother uncle house dog bed garden cat door
  + family letter toy window front_door plate
love: mother grandmother father dog > child baby father
sleep: baby cat child grandmother | in bed house, under apple_tree
play: child sister brother dog | with toy, in garden house, withp cat dog
visit: uncle family sister > grandmother house uncle | withp child dog
wash: father mother brother > window dog plate | in garden kitchen
open: child uncle dog > door front_door letter window | with knife
close: grandmother mother father > window door
write: sister uncle grandmother > letter | tor mother grandmother brother
laugh: baby sister uncle
cry: baby child sister | in bed garden
@kitchen 0.6
  + cook guest soup kitchen bread waiter meal rice knife cheese restaurant cake plate bottle
  + spoon mother apple_tree food
cook: cook mother grandmother > soup rice meal potato | in kitchen restaurant, for guest family
eat: guest child cook > bread soup cake cheese rice | with spoon, in restaurant kitchen
drink: guest waiter baby > soup milk | from bottle plate
cut: cook waiter > bread cheese cake | with knife, on table plate
order: guest customer > meal soup cake | in restaurant
bring: waiter > plate bottle bread soup | tor guest cook
taste: cook guest > soup cheese food
bake: mother cook > cake bread | in kitchen, for child guest
serve: waiter cook > meal rice cake | on plate, in restaurant
@school 0.25
  + teacher pupil book lesson school question exam answer classroom word library pencil
  + school_book letter
teach: teacher > pupil child word | in school classroom
read: pupil teacher child > book school_book word letter | in library classroom
learn: pupil > word lesson answer | for exam teacher
ask: pupil teacher > question | in classroom school
explain: teacher > answer question lesson word | tor pupil child
understand: pupil child > question book teacher
forget: pupil > pencil book answer school_book | in school library
repeat: teacher pupil > word lesson question
write: pupil > exam answer word | with pencil
@farm 0.9
  + farmer cow horse field milk barn pig potato egg chicken harvest tractor fence apple_tree dog
  + animal
feed: farmer child > cow pig chicken horse animal | with potato milk, in barn
milk: farmer mother > cow | in barn field
sell: farmer > egg milk potato pig cow | on market, tor merchant customer
plant: farmer > potato apple_tree tree | in field garden
plough: farmer horse tractor > field | with horse tractor
ride: farmer brother child > horse | through field forest
collect: child farmer > egg potato harvest | in barn field
sleep: pig cow chicken | in barn, under apple_tree, behind fence
repair: farmer carpenter > fence tractor barn | with hammer
@medicine 0.45
  + doctor patient nurse hospital medicine disease wound operation heart virus vaccine ambulance
  + child
treat: doctor nurse > patient wound disease | with medicine vaccine, in hospital
examine: doctor > patient heart wound child | in hospital ambulance
heal: doctor medicine > disease patient wound
prescribe: doctor > medicine vaccine | for patient child
save: doctor operation ambulance > patient heart
die: patient | from disease virus, in hospital
suffer: patient child nurse | from wound virus disease
recover: patient nurse | from operation disease, in hospital bed
need: patient doctor hospital > medicine operation vaccine nurse
@sea 0.7
  + fisherman ship sea captain boat fish wave sailor harbour net island whale lighthouse
  + fishing_boat storm
catch: fisherman whale > fish whale | with net, in sea
sail: ship captain boat sailor | through sea storm, to island harbour
sink: boat ship fishing_boat | in storm sea harbour, near island lighthouse
steer: captain sailor > ship boat fishing_boat | through wave storm, to harbour
repair: fisherman sailor > net boat ship | in harbour
swim: fish whale sailor | in sea, near boat island, under ship
load: sailor > ship boat | with fish, in harbour
leave: captain ship sailor > harbour island ship
see: sailor captain > lighthouse island whale wave | from ship boat
@business 0.5
  + company customer price manager product worker market money contract merchant shop factory
  + bank job
buy: customer company merchant > product company shop | from merchant company, on market
sign: manager merchant > contract | with pencil, in bank
pay: customer company bank > price money tax worker | for product job
produce: factory worker company > product car machine
offer: manager bank company > job contract money product | tor worker customer
found: merchant manager engineer > company bank shop | with money
grow: company market price
work: worker manager | in factory shop bank, for company merchant
hire: manager company > worker engineer lawyer | for job factory
sell: merchant shop company > product car factory | tor customer
@politics 0.8
  + president government minister reform party election citizen parliament speech tax voter
  + newspaper journalist tax_law law
choose: voter citizen party > president parliament party
criticise: journalist newspaper citizen party > government reform minister tax
support: citizen minister parliament > reform government tax_law president
promise: president minister party > reform peace election | tor voter citizen
deliver: president minister > speech | in parliament, about reform tax
reject: parliament voter president > reform tax_law law contract
publish: newspaper journalist > speech result letter | about election minister
resign: minister government president | after election
win: party president > election | against government
@war 0.3
  + soldier king enemy army battle general castle sword queen bridge weapon peace crown horse
attack: enemy army soldier general > castle bridge city army | with weapon sword
defend: soldier king army > castle city bridge | against enemy army
fight: soldier army king | against enemy, with sword weapon, for crown queen peace
conquer: army king general > castle city island
destroy: enemy army > bridge castle tower weapon
carry: king soldier queen > crown sword weapon
fear: king enemy soldier > battle general army queen
hate: soldier enemy queen > enemy king battle
rule: king queen | in castle city
ride: king general > horse | to castle battle, through forest
@music 0.55
  + singer song musician concert audience violin piano theatre picture stage dancer painter poem
  + instrument
sing: singer audience child > song | on stage, in theatre, for audience queen
dance: dancer singer audience | on stage, in theatre, withp musician painter
paint: painter > picture flower queen dancer | for queen audience
practise: musician dancer singer > song violin piano | in theatre, for concert
compose: musician > song concert | for violin piano singer
admire: audience painter journalist > dancer picture singer musician | in theatre
applaud: audience | after concert song, in theatre
hear: audience neighbour > song concert violin piano
write: painter musician > poem song | about flower sea, for singer dancer
@sport 1.0
  + team player match coach goal ball fan stadium referee medal race record football_club
win: team player > match medal race | against football_club team, in stadium
lose: team coach player > match ball medal | against team
train: coach > team player | in stadium, for race match
run: player fan referee | in stadium, to ball goal, through street
score: player team > goal | against football_club, in match
kick: player > ball referee | to goal, in stadium
break: player > record window | in race stadium
watch: fan coach family > match race team | in stadium
criticise: fan coach > referee player team | after match
@law 0.4
  + judge thief policeman lawyer court witness crime prisoner law trial prison proof ring
  + wedding_ring
steal: thief prisoner > ring money car wedding_ring picture | from bank house shop
arrest: policeman > thief driver prisoner | in street hotel, near station
accuse: lawyer witness judge > thief prisoner manager | in court
question: lawyer judge policeman > witness thief | about crime proof, in court
find: policeman witness > proof ring thief weapon | in house street
escape: thief prisoner | from prison court policeman
lie: witness thief prisoner | in court, about crime ring
confess: thief prisoner > crime | tor judge policeman, in prison
defend: lawyer > prisoner thief law | in trial court
@science 0.65
  + scientist experiment theory machine star computer professor result planet telescope engineer
  + laboratory robot data_base
discover: scientist professor telescope > star planet virus
  | with telescope computer, in laboratory
develop: engineer scientist > machine robot vaccine theory | in laboratory, with computer
observe: scientist professor > star planet experiment bird | with telescope, in laboratory
measure: engineer machine > result heart star | with computer machine
test: engineer scientist professor > machine theory robot medicine | in experiment laboratory
prove: professor experiment result > theory
fail: experiment machine theory robot | in laboratory
calculate: computer engineer robot > result price planet | with data_base
publish: scientist professor > result theory book | about star experiment
@travel 0.75
  + train traveller station bus driver city car ticket hotel plane airport suitcase street pilot
travel: traveller pilot train | to city island, with bus plane train, through mountain
drive: driver bus car traveller | to airport station hotel, through street city
arrive: train bus plane traveller | in city airport, at station hotel
wait: traveller driver | for train bus plane, at station airport
miss: traveller pilot > train plane bus | in city
reach: train driver plane traveller > city airport station mountain
pack: traveller > suitcase | for plane city, in hotel
buy: traveller > ticket suitcase car | at station, for train bus
stop: bus train car driver | at station hotel, in street
@nature 0.5
  + forest wolf bird river mountain hunter tree bear flower storm rain snake stone nest animal
hunt: wolf hunter bear > bird bear animal wolf | in forest, near river
fly: bird | to nest mountain, through forest storm
climb: hunter bear cat > mountain tree | in storm rain
bite: snake wolf bear > hunter dog animal | in forest
hide: bear bird snake > egg fish nest | in nest tree, under stone, near river
fall: rain tree stone | in river forest, on mountain
follow: wolf hunter dog > bear animal bird | through forest river
see: hunter bird > snake bear wolf flower | near river, in tree
swim: bear snake wolf | through river, to stone
@building 0.35
  + carpenter wall roof table chair architect hammer wood nail house saw tower neighbour plan
  + tool
build: carpenter architect worker > wall house table tower roof | with wood stone, for neighbour
draw: architect > plan tower house | with pencil, on table
saw: carpenter > wood chair | with saw, behind house
help: neighbour architect worker > carpenter neighbour | with wall roof plan
need: carpenter architect roof > wood nail tool plan hammer | for table wall
lift: worker carpenter > stone chair hammer | on roof wall
repair: carpenter neighbour > roof chair wall table | with hammer nail tool
show: architect > plan house tower | tor neighbour carpenter worker
wait: neighbour | for carpenter roof, on chair, near wall
"""
