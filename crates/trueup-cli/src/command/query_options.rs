//! The options of a query, made from the parts of a [`QueryRequest`], and the warnings about a query.

use crate::exit::Failure;
use crate::notice;
use clap::builder::StyledStr;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, FromArgMatches};
use trueup::query::{EventsQuery, NamedRange};
use trueup::request::{PARAMETERS, Parameter, QueryRequest, ValueType};
use trueup::{Dataset, Execution, UnseenValue};

/// The metric that shows whether the windows of a cohort are over.
const OPEN_LEADS: &str = "openLeads";

/// The options of a query. Exactly one way to say its days is given.
#[derive(Clone, Debug)]
pub(super) struct QueryOptions(pub(super) QueryRequest);

impl Args for QueryOptions {
    fn augment_args(command: Command) -> Command {
        let days = PARAMETERS.iter().filter(|parameter| matches!(parameter.value, ValueType::Date | ValueType::Range));
        let days = ArgGroup::new("days").args(days.map(|parameter| parameter.name)).required(true).multiple(true);
        PARAMETERS.iter().fold(command, |command, parameter| command.arg(option(parameter))).group(days)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for QueryOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let texts = |parameter: &Parameter| match parameter.value {
            ValueType::Flag => matches.get_flag(parameter.name).then(|| vec!["true".to_owned()]),
            _ => Some(matches.get_many::<String>(parameter.name)?.cloned().collect()),
        };
        let given = PARAMETERS.iter().filter_map(|parameter| Some((parameter, texts(parameter)?)));
        QueryRequest::from_texts(given).map(Self).map_err(|fault| clap::Error::raw(ErrorKind::ValueValidation, fault))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Returns the option for a part of a request.
fn option(parameter: &'static Parameter) -> Arg {
    let named = || PARAMETERS.iter().filter(|other| other.value == ValueType::Range && other.name != parameter.name);
    let arg = Arg::new(parameter.name).long(parameter.name).help(help(parameter));
    let arg = parameter.requires.iter().fold(arg, |arg, other| arg.requires(other));
    let arg = match parameter.value {
        ValueType::Date => {
            let both = PARAMETERS.iter().filter(|other| other.value == ValueType::Date && other.name != parameter.name);
            both.fold(arg, |arg, other| arg.requires(other.name)).conflicts_with_all(named().map(|other| other.name))
        }
        ValueType::Flag => return arg.action(ArgAction::SetTrue),
        ValueType::Names | ValueType::Strings => arg.action(ArgAction::Append),
        ValueType::Range => arg.conflicts_with_all(named().map(|other| other.name)),
        _ => arg,
    };
    let parse = |text: &str| match parameter.check(&[text.to_owned()]) {
        Ok(()) => Ok(text.to_owned()),
        Err(fault) => Err(fault.fault),
    };
    let arg = arg.value_name(parameter.value_name).value_parser(parse);
    arg.required(parameter.name == "fields").allow_hyphen_values(parameter.name == "sort")
}

/// Returns the description of a part as the help of an option, which has neither quotes nor a full stop at its end.
fn help(parameter: &Parameter) -> StyledStr {
    let text = parameter.description(|name| format!("--{name}")).replace('`', "");
    match parameter.value {
        ValueType::Strings => format!("{text} Repeat the option for several").into(),
        _ => text.trim_end_matches('.').to_owned().into(),
    }
}

/// Returns the help of the option for the part of a request with this name, for a command that has no other parts.
pub(super) fn help_of(name: &str) -> StyledStr {
    let parameter = Parameter::named(name);
    debug_assert!(parameter.is_some(), "`{name}` is a part of a request");
    parameter.map(help).unwrap_or_default()
}

/// Adds the number of open leads to the table of a cohort, which shows whether a row is final.
pub(super) fn show_open_leads(request: &mut QueryRequest) {
    if request.cohort && !request.fields.iter().any(|name| name == OPEN_LEADS) {
        request.fields.push(OPEN_LEADS.to_owned());
    }
}

/// Tells a person at a terminal which days a range such as `month-to-date` has, and warns about ranges of a query in
/// which the dataset has nothing.
pub(super) fn warn_about(
    request: &QueryRequest,
    query: &EventsQuery,
    dataset: &Dataset,
    execution: &Execution,
) -> Result<(), Failure> {
    if request.named_range().map_err(Failure::usage)?.is_some_and(NamedRange::is_relative) {
        notice::aside(format_args!("the range is {}", query.range()));
    }
    warn_about_days("", query, dataset, execution)
}

/// Warns about ranges of a query in which the dataset has nothing. `prefix` names the query if there are several.
pub(super) fn warn_about_days(
    prefix: &str,
    query: &EventsQuery,
    dataset: &Dataset,
    execution: &Execution,
) -> Result<(), Failure> {
    for empty in dataset.empty_ranges(query, execution)? {
        notice::warning(format_args!("{prefix}{empty}"));
    }
    Ok(())
}

/// Warns about values in the conditions of a query that no event and no spend has. `prefix` names the query if there
/// are several.
pub(super) fn warn_about_unseen_values(prefix: &str, unseen: &[UnseenValue]) {
    for value in unseen {
        notice::warning(format_args!("{prefix}{value}"));
    }
}
