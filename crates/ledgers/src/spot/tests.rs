//! What the rules decide, the property that replay gives what ran, and the bound on memory.
