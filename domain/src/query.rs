//! Query arguments that the API accepts and the store executes.

crate::string_enum! {
    EventOrder { Newest = "newest", Oldest = "oldest" }
}

crate::string_enum! {
    /// How statistics are grouped. Days are in UTC.
    GroupBy {
        None = "none",
        Reviewer = "reviewer",
        Persona = "persona",
        Category = "category",
        Day = "day",
    }
}
