//! Charts from a real registry server.
