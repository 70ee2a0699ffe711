//! Events of auctions and the report of them, independent of their encoding.

/// Something that happened in an auction of advertisements. Prices are in millionths of the currency.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuctionEvent {
    /// The number of the auction.
    pub auction: u64,
    /// The number of the user that sees the advertisement.
    pub user: u64,
    /// When it happened, in microseconds since 1970.
    pub time_us: u64,
    /// The campaign, below [`CAMPAIGNS`].
    pub campaign: u32,
    /// The advertisement.
    pub creative: u32,
    /// What was offered.
    pub bid_micros: u32,
    /// What was paid.
    pub price_micros: u32,
    /// The exchange that held the auction.
    pub exchange: u16,
    /// The user's country.
    pub country: u16,
    /// A bid, a bid that won, an impression or a click: below [`KINDS`].
    pub kind: u8,
    /// The site that shows the advertisement.
    pub site: String,
}

/// Totals of all campaigns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuctionReport {
    campaigns: Vec<CampaignTotals>,
}

/// Totals of one campaign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CampaignTotals {
    /// Events of each kind.
    pub events: [u64; KINDS],
    /// What was offered in all.
    pub bid_micros: u64,
    /// What was paid in all.
    pub price_micros: u64,
}

impl Default for AuctionReport {
    fn default() -> Self {
        Self { campaigns: vec![CampaignTotals::default(); CAMPAIGNS] }
    }
}

impl AuctionReport {
    /// The totals of each campaign.
    pub fn campaigns(&self) -> &[CampaignTotals] {
        &self.campaigns
    }

    /// Adds the fields of one event. Events of unknown campaigns and kinds count for the last ones.
    #[inline(always)]
    pub(crate) fn add(&mut self, campaign: u32, kind: u32, bid_micros: u32, price_micros: u32) {
        let totals = &mut self.campaigns[(campaign as usize).min(CAMPAIGNS - 1)];
        totals.events[(kind as usize).min(KINDS - 1)] += 1;
        totals.bid_micros += u64::from(bid_micros);
        totals.price_micros += u64::from(price_micros);
    }

    /// Adds the totals of another part of the events.
    pub fn merge(&mut self, other: &Self) {
        for (totals, other) in self.campaigns.iter_mut().zip(&other.campaigns) {
            totals.events.iter_mut().zip(other.events).for_each(|(sum, events)| *sum += events);
            totals.bid_micros += other.bid_micros;
            totals.price_micros += other.price_micros;
        }
    }

    /// How many events it has.
    pub fn events(&self) -> u64 {
        self.campaigns.iter().flat_map(|totals| totals.events).sum()
    }
}

/// How many campaigns there are.
pub const CAMPAIGNS: usize = 1000;
/// How many kinds of events there are.
pub const KINDS: usize = 4;
