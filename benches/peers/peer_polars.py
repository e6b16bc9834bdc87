"""Polars, in its own expressions: the passes of `statements.py`, which also explains how the state of a customer is found.

Rows come in the order of customers and days, so the events of a customer in a sub-range are consecutive rows: a *run*. These columns
are added to those of the tables, next to `is_first` and `is_state` of an event:

| found per | columns |
|---|---|
| run | `last_of_0` to `last_of_5`, the last event of each stage; `first_booking`; `booked` and `canceled`, whether there is such an event |
| | `state`; `state_ord`, the state event |
| | `closed`, `sold`, the sums of closed work and of live sales; `estimates`, `estimate_count`, sum and number of live estimates |
| customer | `first_event`; `first_of_1` to `first_of_4`, the first event of each stage; `last_cancel`, the last cancellation |

An event is given by its number, `ord`; 0 is none. If events carry what does not depend on the range ("precomputed"), `first`,
`first_of_stage`, `reached` and `last_cancel` of the table are used instead of the histories, and `rank` is computed as in `statements.py`.
"""

import json

import polars as pl
import tables
from statements import GRADES, OF_HISTORY, OF_STATE, RANK_UNIT

LEAD, BOOKED, ESTIMATED, SOLD, CLOSED, CANCELED = range(len(tables.STAGES))
LABELS = {
    "bookedConversions": "Bookable - Booked",
    "bookableUnbookedConversions": "Bookable - Didn't Book",
    "unbookableConversions": "Unbookable",
}
# The lengths of sub-ranges, as Polars writes them.
LENGTHS = {"month": "1mo", "week": "1w", "day": "1d"}
col = pl.col


class Peer:
    FORMULATIONS = dict.fromkeys(("hot", "cold"), ("semi memory", "semi streaming", "full memory", "full streaming")) | {
        "precomputed": ("semi memory", "semi streaming")
    }
    version = pl.__version__

    def __init__(self, dataset, folder, threads):
        assert pl.thread_pool_size() == threads, "POLARS_MAX_THREADS"
        self.dataset = dataset
        self.numbered = list(tables.numbered(dataset))
        self.held = {name: pl.from_arrow(tables.read(folder, name)).rechunk() for name in ("events", "spend", "accounts")}
        self.held["events"] = self.held["events"].with_columns(col("k").set_sorted(), col("ord").set_sorted())

    def table(self, name, is_cold):
        """Returns a table as a lazy frame: read from its files if `is_cold`, or else the one in memory."""
        if not is_cold:
            return self.held[name].lazy()
        if name != "events":
            return pl.scan_parquet(tables.files(self.dataset, name))
        parts = []
        for path, customers, rows in self.numbered:
            part = pl.scan_parquet(path, row_index_name="ord", row_index_offset=rows)
            parts.append(part.with_columns(k=col("trueup.customer") + customers))
        stage = col("type").replace_strict(tables.STAGES, list(range(6)), return_dtype=pl.Int8)
        return pl.concat(parts).with_columns(stage=stage)

    def run(self, question, temperature, formulation):
        history, engine = formulation.split()
        answer = Answer(question, self.table, temperature, history).frame()
        return answer.collect(engine={"memory": "in-memory", "streaming": "streaming"}[engine]).to_arrow()


class Answer:
    """A question as a lazy frame. `table` returns a table of the peer. `history` says whose histories are computed: of customers in the
    range (`semi`) or of all (`full`)."""

    def __init__(self, question, table, temperature, history):
        self.question, self.history = question, history
        self.is_cold, self.is_precomputed = temperature == "cold", temperature == "precomputed"
        self.table = lambda name: table(name, self.is_cold)
        # A run is one customer, unless there are several sub-ranges.
        self.keys = ["run"] if question.is_split else ["k"]
        self.measures = set(question.measures)
        self.by_state = "adjustedType" in question.dimensions
        self.needs_state = bool(self.measures & OF_STATE) or self.by_state
        self.needs_leads = "leads" in self.measures
        self.needs_history = bool(self.measures & OF_HISTORY)
        self.needs_live_sums = bool(self.measures & {"estimatedRevenue", "soldRevenue"})

    def frame(self):
        """Returns the answer."""
        events = self.events_in_range()
        rows = self.with_states(events)
        rows = self.with_histories(rows, events)
        for condition in self.question.conditions:
            rows = rows.filter(self.condition(*condition))
        grouped = self.grouped(rows)
        return self.with_spend(grouped) if self.question.needs_spend else grouped

    def events_in_range(self):
        """Returns the events in the range, with the columns that the question needs."""
        question, measures = self.question, self.measures
        names = {"k", "ord", "stage"} | set(question.dimensions) - {"adjustedType"} | {field for field, _ in question.conditions}
        if measures & {"matchedCustomers", "unmatchedCustomers"}:
            names.add("customerStatus")
        if "opportunityAgents" in measures:
            names.add("opportunityAgent")
        if measures & set(GRADES):
            names |= {"conversionDetailedLabel", "account"}
        if measures & {"total", "closedRevenue", "estimatedRevenue", "soldRevenue"}:
            names.add("total")
        events = self.table("events").filter(self.in_range())
        if question.is_split:
            events = events.with_columns(sub=col("date").dt.truncate(LENGTHS[question.interval]))
            begins = (col("k") != col("k").shift()) | (col("sub") != col("sub").shift())
            events = events.with_columns(run=begins.fill_null(True).cum_sum().set_sorted())
            names |= {"run", "sub"}
        if self.is_precomputed:
            events = events.with_columns(rank=self.rank())
            names |= {"first", "first_of_stage", "reached", "last_cancel", "rank"}
        return events.select(sorted(names))

    def in_range(self):
        start, end = (pl.lit(text).str.to_date() for text in (self.question.start, self.question.end))
        return self.in_accounts(col("date").is_between(start, end))

    def in_accounts(self, condition):
        keys = self.question.accounts
        return condition & col("account").is_in(keys) if keys else condition

    def with_states(self, events):
        """Returns the events with the columns of their run, if needed. They are joined to every event if the state is a dimension, and
        otherwise only to the state event of the run, because no other event counts."""
        if not self.needs_state:
            return events
        states = self.states_precomputed(events) if self.is_precomputed else self.states(events)
        if self.by_state:
            return events.join(states, on=self.keys).with_columns(is_state=col("ord") == col("state_ord"))
        rows = events.join(states.drop(self.keys), left_on="ord", right_on="state_ord", how="left")
        return rows.with_columns(is_state=col("state").is_not_null())

    def states(self, events):
        """Returns the columns of each run."""
        order, stage = col("ord"), col("stage")
        columns = {f"last_of_{number}": pl.when(stage == number).then(order).max().fill_null(0) for number in range(6)}
        if "closedRevenue" in self.measures:
            columns["closed"] = pl.when(stage == CLOSED).then(col("total")).sum()
        if "canceledAfterBooking" in self.measures:
            columns["first_booking"] = pl.when(stage == BOOKED).then(order).min()
        runs = events.group_by(self.keys).agg(**columns)
        is_closed, last_cancel = col(f"last_of_{CLOSED}") > 0, col(f"last_of_{CANCELED}")
        state = pl.when(is_closed).then(CLOSED)
        state_ord = pl.when(is_closed).then(col(f"last_of_{CLOSED}"))
        for number in (SOLD, ESTIMATED, BOOKED, LEAD):
            is_live = col(f"last_of_{number}") > last_cancel
            state, state_ord = state.when(is_live).then(number), state_ord.when(is_live).then(col(f"last_of_{number}"))
        states = runs.with_columns(
            state=state.otherwise(CANCELED).cast(pl.Int8), state_ord=state_ord.otherwise(last_cancel),
            booked=col(f"last_of_{BOOKED}") > 0, canceled=last_cancel > 0,
        )  # fmt: skip
        if self.needs_live_sums:
            of_run = states.select(*self.keys, "state", "state_ord", last_cancel.alias("after"))
            live = events.filter(stage.is_in([ESTIMATED, SOLD])).join(of_run, on=self.keys)
            live = live.filter((col("state") == stage) & (order > col("after")))
            sums = live.group_by("state_ord").agg(**live_sums(stage == SOLD, stage == ESTIMATED))
            states = states.join(sums, on="state_ord", how="left")
        return states.drop([f"last_of_{number}" for number in range(6)])

    def rank(self):
        """Returns the column `rank`: 0 for a cancellation, -1 for an event that is not live, or else the stage plus 1."""
        is_dead = col("next_cancel") <= pl.lit(self.question.end).str.to_date()
        if self.question.is_split:
            length = LENGTHS[self.question.interval]
            is_dead &= col("next_cancel").dt.truncate(length) == col("date").dt.truncate(length)
        stage = col("stage")
        rank = pl.when(stage == CLOSED).then(CLOSED + 1).when(stage == CANCELED).then(0).when(is_dead).then(-1).otherwise(stage + 1)
        return rank.cast(pl.Int64)

    def states_precomputed(self, events):
        """Returns the columns of each run, from the column `rank`."""
        stage, rank = col("stage"), col("rank")
        # The state event has the highest rank, and among equals the highest number.
        columns = {"best": (rank * RANK_UNIT + col("ord")).max()}
        if "bookedCustomers" in self.measures:
            columns["booked"] = (stage == BOOKED).max()
        if "canceledCustomers" in self.measures:
            columns["canceled"] = (stage == CANCELED).max()
        if "closedRevenue" in self.measures:
            columns["closed"] = pl.when(stage == CLOSED).then(col("total")).sum()
        if "canceledAfterBooking" in self.measures:
            columns["first_booking"] = pl.when(stage == BOOKED).then(col("ord")).min()
        if self.needs_live_sums:
            columns |= live_sums(rank == SOLD + 1, rank == ESTIMATED + 1)
        runs = events.group_by(self.keys).agg(**columns)
        best_rank = col("best") // RANK_UNIT
        state = pl.when(best_rank == 0).then(CANCELED).otherwise(best_rank - 1).cast(pl.Int8)
        return runs.with_columns(state=state, state_ord=(col("best") % RANK_UNIT).cast(pl.Int32)).drop("best")

    def with_histories(self, rows, events):
        """Returns the rows with the columns of their customer, as far as they are needed."""
        if self.is_precomputed:
            return rows.with_columns(is_first=col("first"))
        if self.needs_history:
            return rows.join(self.histories(events), on="k").with_columns(is_first=col("ord") == col("first_event"))
        if self.needs_leads:
            firsts = self.whole_histories(events).group_by("k").agg(first_event=col("ord").min())
            firsts = firsts.select("first_event", is_first=pl.lit(True))
            return rows.join(firsts, left_on="ord", right_on="first_event", how="left")
        return rows

    def histories(self, events):
        """Returns the columns of each customer."""
        order, stage = col("ord"), col("stage")
        columns = {"first_event": order.min()}
        for number in (BOOKED, ESTIMATED, SOLD, CLOSED):
            columns[f"first_of_{number}"] = pl.when(stage == number).then(order).min().fill_null(0)
        if "canceledAfterBooking" in self.measures:
            columns["last_cancel"] = pl.when(stage == CANCELED).then(order).max().fill_null(0)
        return self.whole_histories(events).group_by("k").agg(**columns)

    def whole_histories(self, events):
        """Returns the events whose histories are needed, also those before and after the range."""
        every = self.table("events")
        if self.question.accounts:
            every = every.filter(self.in_accounts(pl.lit(True)))
        if not self.needs_history:
            # Events after the range do not matter for a first event.
            every = every.filter(col("date") <= pl.lit(self.question.end).str.to_date())
        return every.join(events.select("k"), on="k", how="semi") if self.history == "semi" else every

    def condition(self, field, expression):
        """Returns a filter of the suite as an expression."""
        operator, operand, *_ = json.loads(expression)
        if operator != "regex":
            assert (field, operator) == ("total", "gte"), expression
            return col("total") >= (operand if self.is_cold else operand * 10**6)
        pattern = "(?i)" + operand
        if self.is_cold:
            return col(field).str.contains(pattern)
        # The pattern is evaluated once per distinct text of the column, not per row.
        texts = self.table("events").select(col(field).unique()).filter(col(field).cast(pl.String).str.contains(pattern))
        return col(field).is_in(texts.collect().to_series().implode())

    def grouped(self, rows):
        """Returns the measures of events by the dimensions."""
        question = self.question
        if self.by_state:
            rows = rows.with_columns(adjustedType=col("state"))
        dimensions = (["sub"] if question.is_split else []) + question.dimensions
        measured = [self.measure(name).alias(name) for name in question.measures if name not in SPENDS]
        return rows.group_by(dimensions).agg(measured) if dimensions else rows.select(measured)

    def with_spend(self, grouped):
        """Returns the groups of events together with those of spend, added up by the dimensions."""
        dimensions, measures = self.question.dimensions, self.question.measures
        spends = [
            (SPENDS[name] if name in COUNTS else self.micros(SPENDS[name])).alias(name) for name in measures if name in SPENDS
        ]
        spend = self.table("spend").filter(self.in_range())
        spend = spend.group_by(dimensions).agg(spends) if dimensions else spend.select(spends)
        texts = [col(name).cast(pl.String).fill_null("") for name in dimensions]
        union = pl.concat([grouped.with_columns(texts), spend.with_columns(texts)], how="diagonal_relaxed")
        sums = [col(name).sum() for name in measures]
        return union.group_by(dimensions).agg(sums) if dimensions else union.select(sums)

    def micros(self, sum):
        """Returns a sum of amounts in millionths; files have decimals."""
        return (sum * 1_000_000).cast(pl.Int64) if self.is_cold else sum

    def measure(self, name):
        """Returns the expression of a measure of events."""
        stage, is_state = col("stage"), col("is_state")
        if self.is_precomputed:
            reached = lambda number: (col("reached") & (1 << number)) > 0
            is_first_of = lambda number: (stage == number) & col("first_of_stage")
        else:
            reached = lambda number: col(f"first_of_{number}") > 0
            is_first_of = lambda number: col("ord") == col(f"first_of_{number}")
        if name in GRADES:
            keys = self.table("accounts").filter(col("leadGrading")).select("account").collect().to_series().to_list()
            label = col("conversionDetailedLabel")
            graded = (label == LABELS[name]) if name in LABELS else label.is_not_null()
            return ((stage == LEAD) & graded & col("account").is_in(keys)).sum()
        if name == "opportunities" and not self.question.dimensions and not self.question.conditions:
            name = "customers"
        lead = lambda: (stage == LEAD) & col("is_first")
        is_matched = lambda: (col("customerStatus") != "Unmatched").fill_null(False)
        money = lambda column, state: self.micros(pl.when(is_state & (col("state") == state)).then(col(column)).sum())
        return {
            "rows": lambda: pl.len(),
            "conversions": lambda: (stage == LEAD).sum(),
            "leads": lambda: lead().sum(),
            "soldLeads": lambda: (lead() & reached(SOLD)).sum(),
            "closedLeads": lambda: (lead() & reached(CLOSED)).sum(),
            "bookedLeads": lambda: (lead() & reached(BOOKED)).sum(),
            "firstBooked": lambda: is_first_of(BOOKED).sum(),
            "firstBookedEstimated": lambda: (is_first_of(BOOKED) & reached(ESTIMATED)).sum(),
            "firstEstimated": lambda: is_first_of(ESTIMATED).sum(),
            "firstEstimatedSold": lambda: (is_first_of(ESTIMATED) & reached(SOLD)).sum(),
            "firstSold": lambda: is_first_of(SOLD).sum(),
            "firstSoldClosed": lambda: (is_first_of(SOLD) & reached(CLOSED)).sum(),
            "opportunities": lambda: col("k").n_unique(),
            "customers": lambda: is_state.sum(),
            "matchedCustomers": lambda: (is_state & is_matched()).sum(),
            "unmatchedCustomers": lambda: (is_state & ~is_matched()).sum(),
            "payingCustomers": lambda: (is_state & col("state").is_in([SOLD, CLOSED])).sum(),
            "bookedCustomers": lambda: (is_state & col("booked")).sum(),
            "canceledCustomers": lambda: (is_state & col("canceled")).sum(),
            "canceledAfterBooking": lambda: (is_state & (col("last_cancel") > col("first_booking"))).sum(),
            "opportunityAgents": lambda: pl.when(is_state).then(col("opportunityAgent")).drop_nulls().n_unique(),
            "total": lambda: self.micros(col("total").sum()),
            "closedRevenue": lambda: money("closed", CLOSED),
            "soldRevenue": lambda: money("sold", SOLD),
            "estimatedRevenue": lambda: self.estimated(is_state),
        }[name]()

    def estimated(self, is_state):
        """Returns the sum of the average estimates, each rounded half away from zero to the millionth."""
        sum, count = self.micros(col("estimates")), col("estimate_count").cast(pl.Int64)
        average = sum.sign() * ((2 * sum.abs() + count) // (2 * count))
        return pl.when(is_state & (col("state") == ESTIMATED) & (count > 0)).then(average).sum()


def live_sums(is_sold, is_estimated):
    """Returns the columns `sold`, `estimates` and `estimate_count`, from conditions that live sales and live estimates fulfill."""
    amount = col("total")
    return {
        "sold": pl.when(is_sold).then(amount).sum(),
        "estimates": pl.when(is_estimated).then(amount).sum(),
        "estimate_count": (is_estimated & amount.is_not_null()).sum(),
    }


# The measures of spend; two of them are counts, the others money.
COUNTS = {"clicks", "impressions"}
HAS_CAMPAIGN = col("campaign").is_not_null()
SPENDS = {
    "adSpend": col("adSpend").sum(),
    "managementFee": col("managementFee").sum(),
    "campaignSpend": (
        pl.when(HAS_CAMPAIGN).then(col("adSpend")).sum() + pl.when(HAS_CAMPAIGN).then(col("managementFee")).sum()
    ),
    "clicks": col("clicks").sum(),
    "impressions": col("impressions").sum(),
}
