//! The command line: commands, the REST client, hooks and output for people.
