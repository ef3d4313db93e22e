"""One measuring session: which process starts are pending, what they found, its verdicts and what is kept.

Nothing here knows pytest; `plugin/` is the edge that hands tests in and reports what became of them.
"""
