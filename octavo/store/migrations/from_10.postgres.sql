
ALTER SEQUENCE workspaces_number_seq RENAME TO workspaces_pk_seq;
ALTER SEQUENCE oauth_programs_number_seq RENAME TO oauth_programs_pk_seq;
ALTER TABLE search RENAME COLUMN number TO note;
ALTER TABLE workspaces
    ALTER COLUMN documents_were_read DROP DEFAULT,
    ALTER COLUMN documents_were_read TYPE BIGINT,
    ALTER COLUMN documents_were_read SET DEFAULT 0;
