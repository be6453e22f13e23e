"""The classes of events that verbs stand for, as an annotation of events would name them."""

from fairseq_xling.corpus.lexicon.reader import entries

_CLASSES = """
Movement: arrive climb drive escape fall fly follow hide leave load ride run sail sink steer swim
  travel visit catch reach carry lift
Transfer: bring buy deliver feed offer order pay promise sell serve steal hire lose
Communication: accuse admire applaud ask believe confess criticise explain hope know learn lie
  question read reject repeat report say show sign sing teach think understand write prove
  publish laugh cry
Conflict: attack arrest bite break conquer defend destroy die fight hunt kick win score miss fail
Care: cook bake feed heal help treat wash support train recover suffer prescribe examine save
Creation: build compose develop draw found paint plant produce grow collect repair calculate
Contact: close cut open pack plough milk saw measure test choose find watch see hear observe taste
Life: dance drink eat play practise sleep wait work stop rule resign discover love hate fear need
  forget
"""

# The class of each verb, the first that lists it.
EVENT_CLASSES: dict[str, str] = {}
for _name, _verbs in entries(_CLASSES.replace("\n  ", " ")).items():
    for _verb in _verbs.split():
        EVENT_CLASSES.setdefault(_verb, _name)

# Verbs that someone can receive something by.
GIVING = ("bring", "deliver", "offer", "pay", "promise", "sell", "serve", "show", "write", "teach")
