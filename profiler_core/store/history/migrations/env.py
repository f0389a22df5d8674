"""Run by alembic, inside the transaction that `store/history/migrate.py` holds."""

from alembic import context

from profiler_core.store.history.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
    # SQLite can alter little in place; a batch copies the table.
    render_as_batch=True,
)
context.run_migrations()
