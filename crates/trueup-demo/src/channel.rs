//! The marketing channels.

/// A marketing channel: what a lead costs, and how often it is booked.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) category: &'static str,
    pub(super) name: &'static str,
    /// Category and channel in one text, as conversions have it.
    pub(super) path: &'static str,
    /// The column `source`: the platform that leads come from.
    pub(super) source: &'static str,
    /// Share of the campaigns that belong to this channel, in thousandths.
    pub(super) share: u32,
    /// Ad spend per lead in cents; 0 for an unpaid channel.
    pub(super) lead_cents: u32,
    /// Ad spend per click in cents; 0 for a channel without clicks.
    pub(super) click_cents: u32,
    /// Share of its leads that are booked, relative to the share of the account, in thousandths.
    pub(super) booking: u32,
    /// Whether spend is billed at the start of a month rather than daily.
    pub(super) monthly: bool,
    /// Whether an agency manages the channel for a fee.
    pub(super) managed: bool,
}

impl Channel {
    pub(super) fn is_paid(&self) -> bool {
        self.lead_cents > 0
    }
}

/// What paid channels have in common.
const PAID: Channel = Channel {
    category: "Advertising",
    name: "",
    path: "",
    source: "",
    share: 0,
    lead_cents: 0,
    click_cents: 0,
    booking: 1_000,
    monthly: false,
    managed: false,
};

/// What unpaid channels have in common.
const UNPAID: Channel = Channel { category: "Unpaid", ..PAID };

/// The main phone line, such as the number on the vans.
pub(super) static MAIN_LINE: Channel =
    Channel { name: "Direct", path: "Unpaid > Direct", source: "Main Line", booking: 1_030, ..UNPAID };

/// The channel of customers without a conversion.
pub(super) static WALK_IN: Channel = Channel { name: "Walk-In", path: "Unpaid > Walk-In", source: "Walk-In", ..UNPAID };

/// The channels of all campaigns except the main line.
pub(super) static CHANNELS: [Channel; 10] = [
    Channel {
        name: "Paid Search",
        path: "Advertising > Paid Search",
        source: "Google Ads",
        share: 300,
        lead_cents: 10_300,
        click_cents: 1_450,
        managed: true,
        ..PAID
    },
    Channel {
        name: "Local Services Ads",
        path: "Advertising > Local Services Ads",
        source: "Google LSA",
        share: 150,
        lead_cents: 6_900,
        booking: 1_150,
        ..PAID
    },
    Channel {
        name: "Paid Social",
        path: "Advertising > Paid Social",
        source: "Facebook",
        share: 110,
        lead_cents: 7_800,
        click_cents: 310,
        booking: 800,
        managed: true,
        ..PAID
    },
    Channel {
        name: "Display",
        path: "Advertising > Display",
        source: "Google Display",
        share: 60,
        lead_cents: 10_400,
        click_cents: 120,
        booking: 780,
        managed: true,
        ..PAID
    },
    Channel {
        name: "Direct Mail",
        path: "Advertising > Direct Mail",
        source: "Mailer",
        share: 70,
        lead_cents: 10_800,
        monthly: true,
        ..PAID
    },
    Channel {
        name: "Radio",
        path: "Advertising > Radio",
        source: "Radio",
        share: 40,
        lead_cents: 11_200,
        booking: 950,
        monthly: true,
        ..PAID
    },
    Channel {
        name: "Lead Aggregators",
        path: "Advertising > Lead Aggregators",
        source: "Angi",
        share: 70,
        lead_cents: 7_400,
        booking: 820,
        ..PAID
    },
    Channel {
        name: "Organic Search",
        path: "Unpaid > Organic Search",
        source: "Google",
        share: 90,
        booking: 1_000,
        ..UNPAID
    },
    Channel {
        name: "Google Business Profile",
        path: "Unpaid > Google Business Profile",
        source: "Google",
        share: 70,
        booking: 1_060,
        ..UNPAID
    },
    Channel { name: "Referral", path: "Unpaid > Referral", source: "Referral", share: 40, booking: 1_180, ..UNPAID },
];
