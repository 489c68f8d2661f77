"""SQLite: schema, migrations, one module per table, and the views an operator reads.

Plain synchronous functions over `sqlite_utils.Database`; rows are text, numbers and NULL.
"""
