"""Polars, in its own expressions: the passes of `statements.py`."""

import json

import polars as pl
import tables
from statements import GRADES, OF_HISTORY, OF_STATE, RANK_UNIT

STAGE = pl.Enum(tables.STAGES)
LABELS = {
    "bookedConversions": "Bookable - Booked",
    "bookableUnbookedConversions": "Bookable - Didn't Book",
    "unbookableConversions": "Unbookable",
}
CUTS = {"month": "1mo", "week": "1w", "day": "1d"}
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
        self.held = {}
        for name in ("events", "spend", "accounts"):
            frame = pl.from_arrow(tables.read(folder, name))
            frame = frame.rechunk()
            if name == "events":
                frame = frame.with_columns(col("k").set_sorted(), col("ord").set_sorted())
            self.held[name] = frame

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
        how = formulation.split()
        is_cold, is_precomputed = temperature == "cold", temperature == "precomputed"
        unit = 1 if is_cold else 10**6
        answer = Answer(question, lambda name: self.table(name, is_cold), unit, how[0], is_precomputed).frame()
        engine = {"memory": "in-memory", "streaming": "streaming"}[how[1]]
        return answer.collect(engine=engine).to_arrow()


class Answer:
    """A question as a lazy frame. Frames and columns are named as in `statements.py`; `run` numbers the sub-ranges of customers."""

    def __init__(self, question, table, unit, history, precomputed):
        self.q, self.table, self.unit, self.history, self.precomputed = question, table, unit, history, precomputed
        self.measures = set(question.measures)
        self.by_state = "adjustedType" in question.dimensions
        self.needs_state = bool(self.measures & OF_STATE) or self.by_state
        self.needs_leads = "leads" in self.measures
        self.needs_history = bool(self.measures & OF_HISTORY)
        self.needs_live_sums = bool(self.measures & {"estimatedRevenue", "soldRevenue"})

    def in_range(self):
        start, end = (pl.lit(text).str.to_date() for text in (self.q.start, self.q.end))
        return self.in_accounts(col("date").is_between(start, end))

    def in_accounts(self, condition):
        keys = self.q.accounts
        return condition & col("account").is_in(keys) if keys else condition

    def micros(self, sum):
        return sum if self.unit != 1 else (sum * 1_000_000).cast(pl.Int64)

    def frame(self):
        """Returns the answer, with spend if a measure needs it."""
        q = self.q
        # Rows come in the order of customers and days, so that sub-ranges of customers are runs of rows, and numbered in order.
        keys = ["run"] if q.is_split else ["k"]
        names = {"k", "ord", "stage"} | set(q.dimensions) - {"adjustedType"} | {field for field, _ in q.conditions}
        if self.measures & {"matchedCustomers", "unmatchedCustomers"}:
            names.add("customerStatus")
        if "opportunityAgents" in self.measures:
            names.add("opportunityAgent")
        if self.measures & set(GRADES):
            names |= {"conversionDetailedLabel", "account"}
        if self.measures & {"total", "closedRevenue", "estimatedRevenue", "soldRevenue"}:
            names.add("total")
        more = []
        if q.is_split:
            more.append(col("date").dt.truncate(CUTS[q.interval]).alias("sub"))
        if self.precomputed:
            names |= {"first", "first_of_stage", "reached", "last_cancel"}
            more.append(self.rank().alias("rank"))
        e = self.table("events").filter(self.in_range()).with_columns(more)
        if q.is_split:
            begins = (col("k") != col("k").shift()) | (col("sub") != col("sub").shift())
            e = e.with_columns(run=begins.fill_null(True).cum_sum().set_sorted())
            names |= {"run", "sub"}
        e = e.select(sorted(names | ({"rank"} if self.precomputed else set())))
        r = e
        if self.needs_state:
            t = (self.states_precomputed if self.precomputed else self.states)(e, keys)
            if self.by_state:
                r = r.join(t, on=keys)
                r = r.with_columns(is_state=col("ord") == col("state_ord"))
            else:
                r = r.join(t.drop(keys), left_on="ord", right_on="state_ord", how="left")
                r = r.with_columns(is_state=col("state").is_not_null())
        if self.precomputed:
            r = r.with_columns(is_first=col("first"))
        elif self.needs_history:
            r = r.join(self.histories(e), on="k").with_columns(is_first=col("ord") == col("f"))
        elif self.needs_leads:
            h = self.of_history(e).group_by("k").agg(f=col("ord").min()).select("f", is_first=pl.lit(True))
            r = r.join(h, left_on="ord", right_on="f", how="left")
        for condition in q.conditions:
            r = r.filter(self.condition(*condition))
        dims = (["sub"] if q.is_split else []) + q.dimensions
        if self.by_state:
            r = r.with_columns(adjustedType=col("state"))
        measured = [self.measure(name).alias(name) for name in q.measures if name not in SPENDS]
        grouped = r.group_by(dims).agg(measured) if dims else r.select(measured)
        return self.with_spend(grouped) if q.needs_spend else grouped

    def with_spend(self, grouped):
        """Returns the groups of events together with those of spend, added up by the dimensions."""
        dims = self.q.dimensions
        p = self.table("spend").filter(self.in_range())
        spends = [
            (SPENDS[name] if name in COUNTS else self.micros(SPENDS[name])).alias(name)
            for name in self.q.measures
            if name in SPENDS
        ]
        p = p.group_by(dims).agg(spends) if dims else p.select(spends)
        text = [col(name).cast(pl.String).fill_null("") for name in dims]
        grouped, p = grouped.with_columns(text), p.with_columns(text)
        union = pl.concat([grouped, p], how="diagonal_relaxed")
        both = [col(name).sum() for name in self.q.measures]
        return union.group_by(dims).agg(both) if dims else union.select(both)

    def of_history(self, e):
        """Returns the events whose histories are needed."""
        events = self.table("events")
        scope = self.in_accounts(pl.lit(True)) if self.q.accounts else None
        if not self.needs_history:
            until = col("date") <= pl.lit(self.q.end).str.to_date()
            scope = until if scope is None else scope & until
        if scope is not None:
            events = events.filter(scope)
        return events.join(e.select("k"), on="k", how="semi") if self.history == "semi" else events

    def histories(self, e):
        """Returns the relation `h` of `statements.py`."""
        order, stage = col("ord"), col("stage")
        first = lambda number: pl.when(stage == number).then(order).min().fill_null(0)
        last = lambda number: pl.when(stage == number).then(order).max().fill_null(0)
        columns = {"f": order.min(), "f1": first(1), "f2": first(2), "f3": first(3), "f4": last(4)}
        if "canceledAfterBooking" in self.measures:
            columns["lc"] = last(5)
        return self.of_history(e).group_by("k").agg(**columns)

    def states(self, e, keys):
        """Returns the relation `t` of `statements.py`, with the sums of `l`."""
        order, stage = col("ord"), col("stage")
        columns = {f"m{number}": pl.when(stage == number).then(order).max().fill_null(0) for number in range(6)}
        if "closedRevenue" in self.measures:
            columns["closed"] = pl.when(stage == 4).then(col("total")).sum()
        if "canceledAfterBooking" in self.measures:
            columns["b1"] = pl.when(stage == 1).then(order).min()
        s = e.group_by(keys).agg(**columns)
        state, state_ord = pl.when(col("m4") > 0).then(4), pl.when(col("m4") > 0).then(col("m4"))
        for number in (3, 2, 1, 0):
            live = col(f"m{number}") > col("m5")
            state, state_ord = state.when(live).then(number), state_ord.when(live).then(col(f"m{number}"))
        t = s.with_columns(
            state=state.otherwise(5).cast(pl.Int8), state_ord=state_ord.otherwise(col("m5")),
            booked=col("m1") > 0, canceled=col("m5") > 0,
        )  # fmt: skip
        if self.needs_live_sums:
            live = e.filter(stage.is_in([2, 3])).join(t.select(*keys, "state", "state_ord", "m5"), on=keys)
            live = live.filter((col("state") == stage) & (order > col("m5")))
            sums = live_sums(stage == 3, stage == 2)
            t = t.join(live.group_by("state_ord").agg(**sums), on="state_ord", how="left")
        return t.drop([f"m{number}" for number in range(6)])

    def rank(self):
        """Returns the column `rank` of `statements.py`."""
        dead = col("next_cancel") <= pl.lit(self.q.end).str.to_date()
        if self.q.is_split:
            cut = CUTS[self.q.interval]
            dead &= col("next_cancel").dt.truncate(cut) == col("date").dt.truncate(cut)
        stage = col("stage")
        rank = pl.when(stage == 4).then(5).when(stage == 5).then(0).when(dead).then(-1).otherwise(stage + 1)
        return rank.cast(pl.Int64)

    def states_precomputed(self, e, keys):
        """Returns the relation `t` of `statements.py` from the column `rank`."""
        stage, rank = col("stage"), col("rank")
        columns = {"top": (rank * RANK_UNIT + col("ord")).max()}
        if "bookedCustomers" in self.measures:
            columns["booked"] = (stage == 1).max()
        if "canceledCustomers" in self.measures:
            columns["canceled"] = (stage == 5).max()
        if "closedRevenue" in self.measures:
            columns["closed"] = pl.when(stage == 4).then(col("total")).sum()
        if "canceledAfterBooking" in self.measures:
            columns["b1"] = pl.when(stage == 1).then(col("ord")).min()
        if self.needs_live_sums:
            columns |= live_sums(rank == 4, rank == 3)
        s = e.group_by(keys).agg(**columns)
        top = col("top") // RANK_UNIT
        state = pl.when(top == 0).then(5).otherwise(top - 1).cast(pl.Int8)
        return s.with_columns(state=state, state_ord=(col("top") % RANK_UNIT).cast(pl.Int32)).drop("top")

    def condition(self, field, expression):
        """Returns a filter of the suite as an expression."""
        operator, operand, *_ = json.loads(expression)
        if operator == "regex":
            texts = self.table("events").select(col(field).unique()).filter(col(field).cast(pl.String).str.contains("(?i)" + operand))
            if self.unit == 1:
                return col(field).str.contains("(?i)" + operand)
            return col(field).is_in(texts.collect().to_series().implode())
        return col("total") >= operand * self.unit

    def measure(self, name):
        """Returns the expression of a measure of events."""
        stage, first, state = col("stage"), col("is_first"), col("is_state")
        if self.precomputed:
            reached = lambda number: (col("reached") & (1 << number)) > 0
            first_of = lambda number: (stage == number) & col("first_of_stage")
        else:
            reached = lambda number: col(f"f{number}") > 0
            first_of = lambda number: col("ord") == col(f"f{number}")
        if name in GRADES:
            keys = self.table("accounts").filter(col("leadGrading")).select("account").collect().to_series().to_list()
            label = col("conversionDetailedLabel")
            graded = (label == LABELS[name]) if name in LABELS else label.is_not_null()
            return ((stage == 0) & graded & col("account").is_in(keys)).sum()
        if name == "opportunities" and not self.q.dimensions and not self.q.conditions:
            name = "customers"
        lead = lambda: (stage == 0) & first
        status = lambda: col("customerStatus")
        matched = lambda: (status() != "Unmatched").fill_null(False)
        own = lambda column, number: self.micros(pl.when(state & (col("state") == number)).then(col(column)).sum())
        return {
            "rows": lambda: pl.len(),
            "conversions": lambda: (stage == 0).sum(),
            "leads": lambda: lead().sum(),
            "soldLeads": lambda: (lead() & reached(3)).sum(),
            "closedLeads": lambda: (lead() & reached(4)).sum(),
            "bookedLeads": lambda: (lead() & reached(1)).sum(),
            "firstBooked": lambda: first_of(1).sum(),
            "firstBookedEstimated": lambda: (first_of(1) & reached(2)).sum(),
            "firstEstimated": lambda: first_of(2).sum(),
            "firstEstimatedSold": lambda: (first_of(2) & reached(3)).sum(),
            "firstSold": lambda: first_of(3).sum(),
            "firstSoldClosed": lambda: (first_of(3) & reached(4)).sum(),
            "opportunities": lambda: col("k").n_unique(),
            "customers": lambda: state.sum(),
            "matchedCustomers": lambda: (state & matched()).sum(),
            "unmatchedCustomers": lambda: (state & ~matched()).sum(),
            "payingCustomers": lambda: (state & col("state").is_in([3, 4])).sum(),
            "bookedCustomers": lambda: (state & col("booked")).sum(),
            "canceledCustomers": lambda: (state & col("canceled")).sum(),
            "canceledAfterBooking": lambda: (state & (col("last_cancel" if self.precomputed else "lc") > col("b1"))).sum(),
            "opportunityAgents": lambda: pl.when(state).then(col("opportunityAgent")).drop_nulls().n_unique(),
            "total": lambda: self.micros(col("total").sum()),
            "closedRevenue": lambda: own("closed", 4),
            "soldRevenue": lambda: own("sold", 3),
            "estimatedRevenue": lambda: self.estimated(state),
        }[name]()

    def estimated(self, state):
        """Returns the sum of the average estimates, each rounded half away from zero to the millionth."""
        sum, count = self.micros(col("es")), col("en").cast(pl.Int64)
        average = sum.sign() * ((2 * sum.abs() + count) // (2 * count))
        return pl.when(state & (col("state") == 2) & (count > 0)).then(average).sum()


def live_sums(sold, estimated):
    amount = col("total")
    return {
        "sold": pl.when(sold).then(amount).sum(),
        "es": pl.when(estimated).then(amount).sum(),
        "en": (estimated & amount.is_not_null()).sum(),
    }


COUNTS = {"clicks", "impressions"}
SPENDS = {
    "adSpend": col("adSpend").sum(),
    "managementFee": col("managementFee").sum(),
    "campaignSpend": (
        pl.when(col("campaign").is_not_null()).then(col("adSpend")).sum()
        + pl.when(col("campaign").is_not_null()).then(col("managementFee")).sum()
    ),
    "clicks": col("clicks").sum(),
    "impressions": col("impressions").sum(),
}
