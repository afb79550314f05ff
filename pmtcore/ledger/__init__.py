"""The privacy budget on disk: an append-only log of all spends, caps of data sets, and recognition of tables.

Terms used throughout the package:

* *data set*: a name under which private tables are released; it has a *cap*, its largest total mu.
* *spend*: an event that enters the cost of a release before a private row is read; nothing takes it back.
* *account*: cap and spends of a data set. Data sets that share rows are *joined*: they spend from one budget, under the
  smallest of their caps, until a curator *parts* them.
* *event*: one row of the log. It has the hash of the event before it (together the *chain*), and a *seal*, an
  authentication code by the *ledger's key*. That secret is not the *key* of a release, which is a name for one request.
* *head*: number and hash of the newest event. It is *noted* in a file beside the ledger after each write.
* *fingerprint*: keyed hashes of a sample of a table's rows, by which the ledger recognises its rows elsewhere.
* *standing*: whether a release is differentially private as it was carried out, as its record states it.
"""
