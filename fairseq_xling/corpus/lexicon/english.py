"""English forms. Keys are the citation forms; only what the rules would get wrong is listed."""

IRREGULAR_PLURALS = """
child children; knife knives; potato potatoes; virus viruses; fisherman fishermen; fish fish;
thief thieves; policeman policemen; witness witnesses; bus buses; wolf wolves
"""

IRREGULAR_PASTS = """
sleep slept; open opened; write wrote; cry cried; eat ate; drink drank; cut cut; order ordered;
bring brought; teach taught; read read; understand understood; forget forgot; feed fed; sell sold;
ride rode; die died; suffer suffered; recover recovered; catch caught; sink sank; steer steered;
swim swam; leave left; buy bought; pay paid; offer offered; grow grew; choose chose; deliver
delivered; fight fought; conquer conquered; destroy destroyed; carry carried; fear feared; sing
sang; hear heard; win won; lose lost; run ran; break broke; steal stole; find found; lie lied;
discover discovered; develop developed; travel travelled; drive drove; stop stopped; fly flew;
bite bit; hide hid; fall fell; see saw; build built; draw drew; say said; know knew; think thought
"""

FUNCTION_WORDS = """
in: in; on: on; under: under; near: near; behind: behind; at: at; with: with; withp: with; for:
for; from: from; to: to; through: through; about: about; against: against; after: after; tor: to;
because: because; when: when; although: although; if: if; before: before; while: while; and: and;
but: but; that: that; very: very; too: too; will: will; can: can; must: must; not: not; definite:
the; indefinite: a; this: this; these: these; my: my; our: our; many: many; he: he; she: she; it:
it; they: they
"""
