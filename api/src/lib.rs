//! Request and response types, error codes and the table of operations. MCP, REST and the CLI share them.
