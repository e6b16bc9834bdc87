//! What an endpoint is asked with.

/// A parameter of a query.
pub(crate) struct Parameter {
    /// Its name.
    pub(crate) name: &'static str,
    /// What its value is.
    pub(crate) takes: ValueType,
    /// Whether a request without it is refused.
    pub(crate) required: bool,
    /// What it does, in whole sentences.
    pub(crate) means: &'static str,
    /// A value.
    pub(crate) example: &'static str,
}

/// What the value of a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueType {
    /// One name.
    Name,
    /// Names, separated by commas.
    Names,
    /// A day, `YYYY-MM-DD`.
    Date,
    /// A month, `YYYY-MM`, or the word for the month before up to the same day.
    Month,
    /// How a range is cut.
    Interval,
    /// A filter across fields, in JSON.
    Filter,
}

/// What parameters of other names do.
pub(crate) enum OtherParameters {
    /// Nothing.
    Ignored,
    /// Each is a filter on the field of its name; the text says which values it takes.
    AnyField(&'static str),
    /// Each is a filter on the dimension of its name, which is one of those of the endpoint; the text says which values it takes.
    Dimensions(&'static str),
}

impl Parameter {
    /// One that may be left out.
    pub(super) const fn new(name: &'static str, takes: ValueType, means: &'static str, example: &'static str) -> Self {
        Self { name, takes, required: false, means, example }
    }

    /// One that is needed.
    pub(super) const fn needed(self) -> Self {
        Self { required: true, ..self }
    }
}

/// One account, on every endpoint.
pub(super) const ACCOUNT: Parameter = Parameter::new(
    "account",
    ValueType::Name,
    "One account key, to which the answer is restricted. It has to be an account of the organization. It unites with `accounts`.",
    "north",
);

/// Several accounts, on every endpoint.
pub(super) const ACCOUNTS: Parameter = Parameter::new(
    "accounts",
    ValueType::Names,
    "Account keys, to which the answer is restricted. Each has to be an account of the organization.",
    "north,south",
);
