//! What the names of columns and of stages mean.

use crate::mapping::canonical::stage_names;

/// Names of columns as [`plain`] returns them, by canonical column. A name that is earlier in a list says more.
const SYNONYMS: [(&str, &str); 14] = [
    ("account", "account accountkey accountid accountname"),
    (
        "opportunityId",
        "opportunityid opportunity leadid customerid contactid dealid prospectid clientid ref reference jobid \
         jobnumber crmid recordid customer id",
    ),
    ("type", "type stage status event eventtype state step milestone disposition leadstatus"),
    (
        "date",
        "date datetime when day timestamp eventdate time occurredat createdat created createddate updatedat \
         reportdate",
    ),
    ("total", "total amount revenue value saleamount price dealvalue invoicetotal sale totalamount"),
    ("eventId", "eventid rowid transactionid activityid activityno activitynumber activity logid uuid guid"),
    (
        "attributionChannel",
        "attributionchannel channel source leadsource origin utmsource medium marketingsource network platform",
    ),
    ("attributionCategory", "attributioncategory category channelgroup"),
    ("campaign", "campaign campaignname utmcampaign"),
    ("adSpend", "adspend cost spend adcost amountspent mediaspend totalspend"),
    ("managementFee", "managementfee fee mgmtfee agencyfee"),
    ("clicks", "clicks linkclicks"),
    ("impressions", "impressions displays views impr"),
    ("industry", "industry vertical"),
];

/// Names that may mean an account, which only the user knows.
const ACCOUNT_LIKE: &str =
    "branch location servicearea businessunit store company business office site franchise client key region";

/// Returns whether a name may be that of an account, which only the user knows.
pub(super) fn is_account_name(name: &str) -> bool {
    lists(ACCOUNT_LIKE, &plain(name))
}

/// Words by stage, in the order of [`stage_names`].
const STAGE_WORDS: [&str; 6] = [
    "lead inquiry enquiry called call contacted received requested new created originated",
    "booked booking appointment appt scheduled",
    "estimate estimated quote quoted proposal bid",
    "sold sale won signed contract accepted approved",
    "closed invoice invoiced paid completed complete finished done",
    "canceled cancelled cancel lost declined rejected dead",
];

/// Returns whether a list has a word.
fn lists(known: &str, word: &str) -> bool {
    known.split(' ').any(|known| known == word)
}

/// Returns whether one of the words of a text is in a list.
pub(super) fn has_word(text: &str, known: &str) -> bool {
    words(text).iter().any(|word| lists(known, word))
}

/// Returns how well a name fits a canonical column: 0 for the best synonym, more for the others; `None` if the name
/// does not fit.
pub(super) fn rank(canonical: &str, name: &str) -> Option<usize> {
    let (_, synonyms) = SYNONYMS.iter().find(|(column, _)| *column == canonical)?;
    let plain = plain(name);
    let known = synonyms.split(' ').position(|synonym| synonym == plain);
    // This finds names such as `Amount spent (USD)` and `cost_amount`.
    known.or_else(|| (canonical == "adSpend" && is_spend_name(name)).then(|| synonyms.split(' ').count()))
}

/// Returns whether a name says that its column holds spend, and not what something costs on average.
pub(super) fn is_spend_name(name: &str) -> bool {
    has_word(name, "spend spent cost costs")
        && !has_word(name, "per avg average date currency")
        && !is_number_name(name)
}

/// Returns whether a name may be that of an amount.
pub(super) fn is_amount_name(name: &str) -> bool {
    has_word(name, "amount total subtotal revenue value price paid sum sale sales budget") && !is_number_name(name)
}

/// Returns whether a name says that its column holds a tax.
pub(super) fn is_tax_name(name: &str) -> bool {
    has_word(name, "tax taxes vat gst hst pst qst tps tvq mwst") && !is_net_name(name) && !is_number_name(name)
}

/// Returns whether a name says that its column holds an amount before taxes.
pub(super) fn is_net_name(name: &str) -> bool {
    let has = |word: &str| has_word(name, word);
    has("subtotal") || has("net") || (has("sub") && has("total")) || (has("before") && has("tax"))
}

/// Returns whether a name says that its column holds currencies.
pub(super) fn is_currency_name(name: &str) -> bool {
    has_word(name, "currency")
}

/// Returns whether a name says that its column holds money of any kind, such as a discount, which is no amount of an
/// event.
pub(super) fn is_money_name(name: &str) -> bool {
    let is_named = has_word(name, "discount tip tips deposit balance due fee fees margin") && !is_number_name(name);
    is_named || is_amount_name(name) || is_spend_name(name) || is_tax_name(name)
}

/// Words in names of numbers that count or measure something else than money.
const QUANTITY_WORDS: &str = "duration seconds sec minutes hours days age count qty quantity percent percentage \
                              probability rating score zip postal postcode";

/// Returns whether a name says that its column holds numbers that are no amounts, such as `Lead #`, `Invoice No` and
/// `Total hours`.
pub(super) fn is_number_name(name: &str) -> bool {
    is_id_name(name) || is_contact_name(name) || has_word(name, QUANTITY_WORDS)
}

/// Returns whether a name says that its column holds ids or numbers of things.
pub(super) fn is_id_name(name: &str) -> bool {
    let last = words(name).into_iter().rfind(|word| !word.is_empty());
    name.trim_end().ends_with('#') || last.is_some_and(|last| lists("number no nr num id ids key code ref", &last))
}

/// Returns whether a name says that its column holds phone numbers or addresses of mail.
pub(super) fn is_contact_name(name: &str) -> bool {
    has_word(name, "phone phones telephone tel mobile cell fax email mail")
}

/// Returns whether a text says that what it names may not count, such as an abandoned call.
pub(super) fn is_doubtful(text: &str) -> bool {
    has_word(text, "abandoned missed voicemail spam unanswered no not test duplicate")
}

/// Returns whether a name says that its column holds what was before, such as `old_stage`.
pub(super) fn is_former(name: &str) -> bool {
    has_word(name, "old previous prev former from prior")
}

/// Returns whether a name says that its column holds when a row was last changed, such as `Updated on`.
pub(super) fn is_change_name(name: &str) -> bool {
    has_word(name, "updated modified changed")
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
    let means = |known: &str| words.iter().any(|word| lists(known, word));
    stage_names().into_iter().zip(STAGE_WORDS).filter(|(_, known)| means(known)).map(|(stage, _)| stage).collect()
}

/// Returns whether the stages that a text means rest on words by which payments and forms are described, too.
pub(super) fn is_weak_stage(text: &str) -> bool {
    let words = words(text);
    let mut known = words.iter().filter(|word| STAGE_WORDS.iter().any(|known| lists(known, word)));
    known.all(|word| lists("complete completed paid", word))
}

/// Returns whether a name says that its column holds what brought a customer, or a payment, whatever its values look
/// like: a `utm_medium` is `paid`, and no work is.
pub(super) fn is_never_stage(name: &str) -> bool {
    let is_dimension = |dimension: &&str| rank(dimension, name).is_some();
    has_word(name, "utm medium source payment payments")
        || ["attributionChannel", "attributionCategory", "campaign"].iter().any(is_dimension)
}

/// Returns whether a text means yes.
pub(super) fn is_yes(text: &str) -> bool {
    ["yes", "y", "true", "t", "1", "x"].iter().any(|yes| text.trim().eq_ignore_ascii_case(yes))
}

/// Returns whether a name says that its column holds dates.
pub(super) fn is_date_name(name: &str) -> bool {
    rank("date", name).is_some() || has_word(name, "date day time timestamp at on when")
}

/// Returns the words of a text in lower case. A capital after a small letter begins a word.
fn words(text: &str) -> Vec<String> {
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
