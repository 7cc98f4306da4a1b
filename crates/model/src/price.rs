//! What a call of a tool costs its caller, where calls are paid for.

use serde::{Deserialize, Serialize};

crate::document::named!(
    /// The classes that a tool is published with; an operator gives each class its price.
    PriceClass {
        /// Says what the server is and how it fares.
        Free = "free",
        /// Answered by this server alone.
        Standard = "standard",
        /// May ask a model that somebody is paid for.
        Model = "model",
    }
);
