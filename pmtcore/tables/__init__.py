"""From files to rows: tables, the choices of the user, the coding of columns and targets, real and synthetic data.

Terms used throughout the package:

* *cell*: one entry of a table, as text or as a typed value. It becomes a number, a *level* (a category) or missing, by
  itself: no other cell of the private table has an influence on it.
* *source*: a table where it is stored (file, folder, frame, query), read in *blocks* of cells.
* *dialect*: how a text file is written: encoding, decimal mark, quotes. *Schema*: how each column is read. Both come
  from the public table or are declared.
* *choices*: the user's public decisions about the tables. *Finding*: a fact about them that somebody should know, with
  *repairs*, which are changes of the choices.
* *gap*: a missing value, or an *unseen* level, which the public table does not have.
* *coder*: public rules by which a whole row becomes features and response.
* *person*: the unit of protection where a column identifies to whom a row belongs.
"""
