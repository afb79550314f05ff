"""One release from request to record; planning beforehand, and what a budget retrieved.

A *release* is the output of one private mechanism on a table, with its guarantee and its public facts. It is *sound*
where its guarantee is proved and its spend is in a ledger; otherwise its status is *lab*, and it may not leave.
"""
