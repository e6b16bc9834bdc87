//! What the names of columns and of stages mean.

use crate::mapping::canonical::stage_names;

/// Names of columns as [`plain`] returns them, by canonical column. A name that is earlier in a list says more.
const SYNONYMS: [(&str, &[&str]); 14] = [
    ("account", &["account", "accountkey", "accountid", "accountname"]),
    (
        "opportunityId",
        &[
            "opportunityid",
            "opportunity",
            "leadid",
            "customerid",
            "contactid",
            "dealid",
            "prospectid",
            "clientid",
            "ref",
            "reference",
            "jobid",
            "jobnumber",
            "crmid",
            "recordid",
            "customer",
            "id",
        ],
    ),
    (
        "type",
        &["type", "stage", "status", "event", "eventtype", "state", "step", "milestone", "disposition", "leadstatus"],
    ),
    (
        "date",
        &[
            "date",
            "datetime",
            "when",
            "day",
            "timestamp",
            "eventdate",
            "time",
            "occurredat",
            "createdat",
            "created",
            "createddate",
            "updatedat",
            "reportdate",
        ],
    ),
    (
        "total",
        &[
            "total",
            "amount",
            "revenue",
            "value",
            "saleamount",
            "price",
            "dealvalue",
            "invoicetotal",
            "sale",
            "totalamount",
        ],
    ),
    (
        "eventId",
        &[
            "eventid",
            "rowid",
            "transactionid",
            "activityid",
            "activityno",
            "activitynumber",
            "activity",
            "logid",
            "uuid",
            "guid",
        ],
    ),
    (
        "attributionChannel",
        &[
            "attributionchannel",
            "channel",
            "source",
            "leadsource",
            "origin",
            "utmsource",
            "medium",
            "marketingsource",
            "network",
            "platform",
        ],
    ),
    ("attributionCategory", &["attributioncategory", "category", "channelgroup"]),
    ("campaign", &["campaign", "campaignname", "utmcampaign"]),
    ("adSpend", &["adspend", "cost", "spend", "adcost", "amountspent", "mediaspend", "totalspend"]),
    ("managementFee", &["managementfee", "fee", "mgmtfee", "agencyfee"]),
    ("clicks", &["clicks", "linkclicks"]),
    ("impressions", &["impressions", "displays", "views", "impr"]),
    ("industry", &["industry", "vertical"]),
];

/// Names that may mean an account, which only the user knows.
const ACCOUNT_LIKE: [&str; 13] = [
    "branch",
    "location",
    "servicearea",
    "businessunit",
    "store",
    "company",
    "business",
    "office",
    "site",
    "franchise",
    "client",
    "key",
    "region",
];

/// Returns whether a name may be that of an account, which only the user knows.
pub(super) fn is_account_name(name: &str) -> bool {
    ACCOUNT_LIKE.contains(&plain(name).as_str())
}

/// Words by stage, in the order of [`stage_names`].
const STAGE_WORDS: [&[&str]; 6] = [
    &[
        "lead",
        "inquiry",
        "enquiry",
        "called",
        "call",
        "contacted",
        "received",
        "requested",
        "new",
        "created",
        "originated",
    ],
    &["booked", "booking", "appointment", "appt", "scheduled"],
    &["estimate", "estimated", "quote", "quoted", "proposal", "bid"],
    &["sold", "sale", "won", "signed", "contract", "accepted", "approved"],
    &["closed", "invoice", "invoiced", "paid", "completed", "complete", "finished", "done"],
    &["canceled", "cancelled", "cancel", "lost", "declined", "rejected", "dead"],
];

/// Words of stages that payments and forms are described by, too.
const WEAK_STAGE_WORDS: [&str; 3] = ["complete", "completed", "paid"];

/// Returns how well a name fits a canonical column: 0 for the best synonym, more for the others; `None` if the name
/// does not fit.
pub(super) fn rank(canonical: &str, name: &str) -> Option<usize> {
    let (_, synonyms) = SYNONYMS.iter().find(|(column, _)| *column == canonical)?;
    let known = synonyms.iter().position(|synonym| *synonym == plain(name));
    // This finds names such as `Amount spent (USD)` and `cost_amount`.
    known.or_else(|| (canonical == "adSpend" && is_spend_name(name)).then_some(synonyms.len()))
}

/// Returns whether a name says that its column holds spend, and not what something costs on average.
pub(super) fn is_spend_name(name: &str) -> bool {
    let words = words(name);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    has(&["spend", "spent", "cost", "costs"])
        && !has(&["per", "avg", "average", "date", "currency"])
        && !is_number_name(name)
}

/// Returns whether a name may be that of an amount.
pub(super) fn is_amount_name(name: &str) -> bool {
    let says = |word: &String| AMOUNT_WORDS.contains(&word.as_str());
    words(name).iter().any(says) && !is_number_name(name)
}

/// Returns whether a name says that its column holds a tax.
pub(super) fn is_tax_name(name: &str) -> bool {
    const TAXES: [&str; 10] = ["tax", "taxes", "vat", "gst", "hst", "pst", "qst", "tps", "tvq", "mwst"];
    words(name).iter().any(|word| TAXES.contains(&word.as_str())) && !is_net_name(name) && !is_number_name(name)
}

/// Returns whether a name says that its column holds an amount before taxes.
pub(super) fn is_net_name(name: &str) -> bool {
    let words = words(name);
    let has = |word: &str| words.iter().any(|other| other == word);
    has("subtotal") || has("net") || (has("sub") && has("total")) || (has("before") && has("tax"))
}

/// Returns whether a name says that its column holds currencies.
pub(super) fn is_currency_name(name: &str) -> bool {
    words(name).iter().any(|word| word == "currency")
}

/// Words in names of amounts.
const AMOUNT_WORDS: [&str; 11] =
    ["amount", "total", "subtotal", "revenue", "value", "price", "paid", "sum", "sale", "sales", "budget"];

/// Returns whether a name says that its column holds money of any kind, such as a discount, which is no amount of an
/// event.
pub(super) fn is_money_name(name: &str) -> bool {
    const MONEY: [&str; 9] = ["discount", "tip", "tips", "deposit", "balance", "due", "fee", "fees", "margin"];
    let says = |word: &String| MONEY.contains(&word.as_str());
    let is_named = words(name).iter().any(says) && !is_number_name(name);
    is_named || is_amount_name(name) || is_spend_name(name) || is_tax_name(name)
}

/// Returns whether a name says that its column holds numbers that are no amounts, such as `Lead #`, `Invoice No` and
/// `Total hours`.
pub(super) fn is_number_name(name: &str) -> bool {
    let words: Vec<String> = words(name).into_iter().filter(|word| !word.is_empty()).collect();
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    is_id_name(name) || is_contact_name(name) || has(&QUANTITY_WORDS)
}

/// Words in names of numbers that count or measure something else than money.
const QUANTITY_WORDS: [&str; 18] = [
    "duration",
    "seconds",
    "sec",
    "minutes",
    "hours",
    "days",
    "age",
    "count",
    "qty",
    "quantity",
    "percent",
    "percentage",
    "probability",
    "rating",
    "score",
    "zip",
    "postal",
    "postcode",
];

/// Returns whether a name says that its column holds ids or numbers of things.
pub(super) fn is_id_name(name: &str) -> bool {
    const ENDS: [&str; 9] = ["number", "no", "nr", "num", "id", "ids", "key", "code", "ref"];
    let words: Vec<String> = words(name).into_iter().filter(|word| !word.is_empty()).collect();
    name.trim_end().ends_with('#') || words.last().is_some_and(|last| ENDS.contains(&last.as_str()))
}

/// Returns whether a name says that its column holds phone numbers or addresses of mail.
pub(super) fn is_contact_name(name: &str) -> bool {
    const CONTACT: [&str; 9] = ["phone", "phones", "telephone", "tel", "mobile", "cell", "fax", "email", "mail"];
    words(name).iter().any(|word| CONTACT.contains(&word.as_str()))
}

/// Returns whether a text says that what it names may not count, such as an abandoned call.
pub(super) fn is_doubtful(text: &str) -> bool {
    const DOUBTS: [&str; 9] =
        ["abandoned", "missed", "voicemail", "spam", "unanswered", "no", "not", "test", "duplicate"];
    words(text).iter().any(|word| DOUBTS.contains(&word.as_str()))
}

/// Returns whether a name says that its column holds what was before, such as `old_stage`.
pub(super) fn is_former(name: &str) -> bool {
    words(name).iter().any(|word| ["old", "previous", "prev", "former", "from", "prior"].contains(&word.as_str()))
}

/// Returns whether a name says that its column holds when a row was last changed, such as `Updated on`.
pub(super) fn is_change_name(name: &str) -> bool {
    words(name).iter().any(|word| ["updated", "modified", "changed"].contains(&word.as_str()))
}

/// Returns a name in lower case, without anything but ASCII letters and digits.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|char| char.to_ascii_lowercase()).collect()
}

/// Returns the stages that the words of a text mean.
pub(super) fn stages_of(text: &str) -> Vec<&'static str> {
    if let Some(stage) = stage_names().into_iter().find(|stage| stage.eq_ignore_ascii_case(text)) {
        return vec![stage];
    }
    let words = words(text);
    let means = |known: &&[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    stage_names().into_iter().zip(&STAGE_WORDS).filter(|(_, known)| means(known)).map(|(stage, _)| stage).collect()
}

/// Returns whether the stages that a text means rest on words by which payments and forms are described, too.
pub(super) fn is_weak_stage(text: &str) -> bool {
    let words = words(text);
    let known = STAGE_WORDS.iter().copied().flatten();
    known.filter(|known| words.iter().any(|word| word == *known)).all(|known| WEAK_STAGE_WORDS.contains(known))
}

/// Returns whether a name says that its column holds what brought a customer, or a payment, whatever its values look
/// like: a `utm_medium` is `paid`, and no work is.
pub(super) fn is_never_stage(name: &str) -> bool {
    const OTHER: [&str; 5] = ["utm", "medium", "source", "payment", "payments"];
    let is_dimension = |dimension: &&str| rank(dimension, name).is_some();
    words(name).iter().any(|word| OTHER.contains(&word.as_str()))
        || ["attributionChannel", "attributionCategory", "campaign"].iter().any(is_dimension)
}

/// Returns whether a text means yes.
pub(super) fn is_yes(text: &str) -> bool {
    ["yes", "y", "true", "t", "1", "x"].iter().any(|yes| text.trim().eq_ignore_ascii_case(yes))
}

/// Returns whether a name says that its column holds dates.
pub(super) fn is_date_name(name: &str) -> bool {
    let says = |word: &String| ["date", "day", "time", "timestamp", "at", "on", "when"].contains(&word.as_str());
    rank("date", name).is_some() || words(name).iter().any(says)
}

/// Returns the words of a text in lower case. A capital after a small letter begins a word.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut last = ' ';
    for char in text.chars() {
        if !char.is_ascii_alphanumeric() || (char.is_ascii_uppercase() && last.is_ascii_lowercase()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| char.is_ascii_alphanumeric()) {
            word.push(char.to_ascii_lowercase());
        }
        last = char;
    }
    words
}
