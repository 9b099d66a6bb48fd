-- What version 10 of the schema added.

ALTER TABLE oauth_programs ADD COLUMN ended_at {int};
CREATE INDEX files_of_program ON files (program) WHERE program IS NOT NULL;
CREATE INDEX revisions_of_program ON revisions (program) WHERE program IS NOT NULL;
