"""The suite in SQL, in the dialect that the peers have in common.

A statement reads a relation `events`, in which an event has `k`, the number of its customer, `ord`, its number in the order of the rows
of the files (docs/data-model.md, "Order inside a customer"), and `stage`, from 0 for lead-originated to 5 for canceled.

One pass finds, per customer and sub-range, the last event of each stage (`m0` to `m5`). An event is live if it comes after the last
cancellation, `m5`, or if the customer has a closed event. The state is the furthest of the stages 0 to 4 whose last event is live, or
canceled if there is none; its last event is the state event. A second pass computes what the metrics need of the customers' histories; with
`semi`, only of the customers that have an event in the range. Apart from that selection, neither needs a window or a join of events with
events.

| relation | one row for each | columns, next to the keys |
|---|---|---|
| `e` | event in the range | `sub`, the first day of its week or month, or its day; the dimensions |
| `s` | customer and sub-range | `m0` to `m5`; `closed`, the sum of closed amounts; `b1`, the first booking |
| `t` | customer and sub-range | `state`; `state_ord`, the state event; `booked`; `canceled`; those of `s` that measures need |
| `l` | customer and sub-range, sold or estimated | `sold`, the sum of live sales; `es` and `en`, sum and number of live estimates |
| `h` | customer | `f`, the first event; `f1` to `f3`, the first of a stage; `f4`, the last closed; `lc`, the last cancellation |
| `g`, `p` | row of the answer | the measures of events; those of spend |

With precomputed columns, `e` has `rank` (0 for canceled, -1 if the event is not live, or else its stage plus 1) and `s` has `best`, the
highest rank of its events, and the number of the last event that has this rank: the state event.
"""

import json

# Larger than the number of any event, so that a rank and a number fit into one integer whose order is that of the pair.
RANK_UNIT = 1 << 40

# The measures that need the state.
OF_STATE = {
    "customers", "matchedCustomers", "unmatchedCustomers", "payingCustomers", "bookedCustomers", "canceledCustomers",
    "canceledAfterBooking", "opportunityAgents", "estimatedRevenue", "soldRevenue", "closedRevenue",
}  # fmt: skip
# The measures that need the whole history.
OF_HISTORY = {
    "soldLeads", "closedLeads", "bookedLeads", "firstBooked", "firstBookedEstimated", "firstEstimated", "firstEstimatedSold",
    "firstSold", "firstSoldClosed", "canceledAfterBooking",
}  # fmt: skip
# The measures of lead grading, each with the condition on the grade of a conversion.
GRADES = {
    "gradedConversions": "<> ''",
    "bookedConversions": "= 'Bookable - Booked'",
    "bookableUnbookedConversions": "= 'Bookable - Didn''t Book'",
    "unbookableConversions": "= 'Unbookable'",
}
# The measures of spend.
SPENDS = {
    "adSpend": 'sum("adSpend")',
    "managementFee": 'sum("managementFee")',
    "campaignSpend": """coalesce(sum("adSpend") FILTER (WHERE campaign <> ''), 0)
        + coalesce(sum("managementFee") FILTER (WHERE campaign <> ''), 0)""",
    "clicks": "sum(clicks)",
    "impressions": "sum(impressions)",
}


def quoted(name):
    return '"' + name + '"'


def literal(text):
    return "'" + text.replace("'", "''") + "'"


class Dialect:
    """Where engines differ. `unit` is the value of `total` that is 1 of the currency; `regex` returns the condition that a field matches
    a pattern, ignoring case; `micros` turns a sum of `total` into millionths."""

    def __init__(self, unit, regex=None, micros=None):
        self.unit = unit
        self.regex = regex or (lambda field, pattern: f"regexp_matches({field}, {literal(pattern)}, 'i')")
        self.micros = micros or ((lambda sum: sum) if unit != 1 else (lambda sum: f"CAST(({sum}) * 1000000 AS BIGINT)"))

    def half_away(self, sum, count):
        """Returns the average in millionths, rounded half away from zero."""
        sum = self.micros(sum)
        return f"CASE WHEN {sum} < 0 THEN -1 ELSE 1 END * {self.quotient(f'(2 * abs({sum}) + {count})', f'(2 * {count})')}"

    def quotient(self, one, other):
        return f"({one} // {other})"

    def bit(self, number, bit):
        return f"({number} & {1 << bit}) > 0"

    def date(self, text):
        return f"DATE '{text}'"

    def trunc(self, interval, date):
        return date if interval == "day" else f"CAST(date_trunc('{interval}', {date}) AS DATE)"


class Statement:
    """A question in SQL. `history` says whose histories are computed: of customers in the range (`semi`) or of all (`full`);
    with `precomputed`, events carry what does not depend on the range."""

    def __init__(self, question, dialect, history="semi", precomputed=False):
        self.q, self.d, self.history, self.precomputed = question, dialect, history, precomputed
        measures = set(question.measures)
        self.by_state = "adjustedType" in question.dimensions
        self.needs_state = bool(measures & OF_STATE) or self.by_state
        self.needs_leads = "leads" in measures
        self.needs_history = bool(measures & OF_HISTORY)
        self.needs_live_sums = bool(measures & {"estimatedRevenue", "soldRevenue"})

    def text(self):
        """Returns the SQL."""
        with_, group = self.sources(), self.grouped()
        if not self.q.needs_spend:
            return f"WITH {with_}\n{group}"
        events = [name for name in self.q.measures if name not in SPENDS]
        dims = [quoted(name) for name in self.q.dimensions]
        both = [f"sum({name}) AS {name}" for name in map(quoted, self.q.measures)]
        row = ", ".join(
            [f"coalesce({name}, '') AS {name}" for name in dims]
            + [f"{quoted(name) if name in events else '0'} AS {quoted(name)}" for name in self.q.measures]
        )
        of_spend = ", ".join(
            [f"coalesce({name}, '') AS {name}" for name in dims]
            + [f"{self.spend(name) if name in SPENDS else '0'} AS {quoted(name)}" for name in self.q.measures]
        )
        by = f" GROUP BY {', '.join(dims)}" if dims else ""
        # In the suite, a question that needs spend has only dimensions that spend carries.
        return (
            f"WITH {with_},\ng AS ({group}),\n"
            f"p AS (SELECT {of_spend} FROM spend WHERE {self.in_range()}{by})\n"
            f"SELECT {', '.join(dims + both)} FROM (SELECT {row} FROM g UNION ALL SELECT * FROM p) AS u{by}"
        )

    def spend(self, name):
        """Returns the expression of a measure of spend."""
        sum = f"coalesce({SPENDS[name]}, 0)"
        return sum if name in ("clicks", "impressions") else self.d.micros(sum)

    def in_range(self):
        between = f"date BETWEEN {self.d.date(self.q.start)} AND {self.d.date(self.q.end)}"
        return between + self.in_accounts()

    def in_accounts(self):
        keys = self.q.accounts
        return f" AND account IN ({', '.join(map(literal, keys))})" if keys else ""

    def sub(self, alias=""):
        return f"{alias}sub" if self.q.is_split else None

    def sources(self):
        """Returns the relations before the grouping: `e`, and the ones of `s`, `t`, `l` and `h` that the measures need."""
        columns = ["k", "ord", "stage"]
        if self.q.is_split:
            columns.append(f"{self.d.trunc(self.q.interval, 'date')} AS sub")
        names = [name for name in self.q.dimensions if name != "adjustedType"] + [field for field, _ in self.q.conditions]
        measures = set(self.q.measures)
        if measures & {"matchedCustomers", "unmatchedCustomers"}:
            names.append("customerStatus")
        if "opportunityAgents" in measures:
            names.append("opportunityAgent")
        if measures & set(GRADES):
            names += ["conversionDetailedLabel", "account"]
        if measures & {"total", "closedRevenue", "estimatedRevenue", "soldRevenue"}:
            names.append("total")
        columns += [quoted(name) for name in dict.fromkeys(names)]
        if self.precomputed:
            columns += self.precomputed_columns()
        parts = [f"e AS (SELECT {', '.join(columns)} FROM events WHERE {self.in_range()})"]
        if self.needs_state:
            parts += self.states_precomputed() if self.precomputed else self.states()
        if not self.precomputed and self.needs_history:
            parts.append(self.histories())
        elif not self.precomputed and self.needs_leads:
            parts.append(f"h AS (SELECT min(ord) AS f FROM events WHERE {self.of_history()} GROUP BY k)")
        return ",\n".join(parts)

    def of_history(self):
        """Returns the condition on the events whose histories are needed."""
        scope = "TRUE" + self.in_accounts()
        # Events after the range do not matter for a first event.
        if not self.needs_history:
            scope += f" AND date <= {self.d.date(self.q.end)}"
        return f"{scope} AND k IN (SELECT k FROM e)" if self.history == "semi" else scope

    def histories(self):
        """Returns the relation `h`."""
        last = lambda stage, name: f"coalesce(max(ord) FILTER (WHERE stage = {stage}), 0) AS {name}"
        first = lambda stage, name: f"coalesce(min(ord) FILTER (WHERE stage = {stage}), 0) AS {name}"
        columns = ["k", "min(ord) AS f", first(1, "f1"), first(2, "f2"), first(3, "f3"), last(4, "f4")]
        if "canceledAfterBooking" in self.q.measures:
            columns.append(last(5, "lc"))
        return f"h AS (SELECT {', '.join(columns)} FROM events WHERE {self.of_history()} GROUP BY k)"

    def states(self):
        """Returns the relations `s`, `t` and, if needed, `l`."""
        sub = ["sub"] if self.q.is_split else []
        keys = ["k", *sub]
        last = [f"coalesce(max(ord) FILTER (WHERE stage = {stage}), 0) AS m{stage}" for stage in range(6)]
        more = []
        if "closedRevenue" in self.q.measures:
            more.append("sum(total) FILTER (WHERE stage = 4) AS closed")
        if "canceledAfterBooking" in self.q.measures:
            more.append("min(ord) FILTER (WHERE stage = 1) AS b1")
        cases = "WHEN m4 > 0 THEN {4} WHEN m3 > m5 THEN {3} WHEN m2 > m5 THEN {2} WHEN m1 > m5 THEN {1} WHEN m0 > m5 THEN {0} ELSE {5}"
        state = f"CASE {cases.format(*range(6))} END AS state"
        state_ord = f"CASE {cases.format(*(f'm{stage}' for stage in range(6)))} END AS state_ord"
        kept = keys + ["m1 > 0 AS booked", "m5 > 0 AS canceled"] + [column.split(" AS ")[-1] for column in more]
        parts = [
            f"s AS (SELECT {', '.join(keys + last + more)} FROM e GROUP BY {', '.join(keys)})",
            f"t AS (SELECT {', '.join([*kept, 'm5', state, state_ord])} FROM s)",
        ]
        if self.needs_live_sums:
            # The live sales of customers in the state sold, and the live estimates of customers in the state estimated.
            on = " AND ".join(f"e.{key} = t.{key}" for key in keys)
            by = ", ".join(f"e.{key}" for key in keys)
            parts.append(
                f"l AS (SELECT t.state_ord, sum(total) FILTER (WHERE stage = 3) AS sold, sum(total) FILTER (WHERE stage = 2) AS es, "
                f"count(total) FILTER (WHERE stage = 2) AS en FROM e JOIN t ON {on} "
                f"WHERE stage IN (2, 3) AND t.state = stage AND ord > t.m5 GROUP BY t.state_ord)"
            )
        return parts

    def precomputed_columns(self):
        """Returns the columns of `e` that use what was computed before the range was known."""
        # Live: no cancellation follows in the sub-range. A closed event makes all events of its customer live, and closed is then the state.
        end = self.d.date(self.q.end)
        dead = f"next_cancel <= {end}"
        if self.q.is_split:
            trunc = lambda date: self.d.trunc(self.q.interval, date)
            dead = f"({dead} AND {trunc('next_cancel')} = {trunc('date')})"
        rank = f"CASE WHEN stage = 4 THEN 5 WHEN stage = 5 THEN 0 WHEN {dead} THEN -1 ELSE stage + 1 END"
        columns = [f"{rank} AS rank"]
        if self.needs_leads or self.needs_history:
            columns.append("first")
        if self.needs_history:
            columns += ["reached", "first_of_stage"]
        if "canceledAfterBooking" in self.q.measures:
            columns.append("last_cancel")
        return columns

    def states_precomputed(self):
        """Returns the relations `s` and `t` from the column `rank`."""
        keys = ["k", "sub"] if self.q.is_split else ["k"]
        columns = [*keys, f"max(CAST(rank AS BIGINT) * {RANK_UNIT} + ord) AS best"]
        if "bookedCustomers" in self.q.measures:
            columns.append("max(CASE WHEN stage = 1 THEN 1 ELSE 0 END) AS has_booked")
        if "canceledCustomers" in self.q.measures:
            columns.append("max(CASE WHEN stage = 5 THEN 1 ELSE 0 END) AS has_canceled")
        if "closedRevenue" in self.q.measures:
            columns.append("sum(total) FILTER (WHERE stage = 4) AS closed")
        if "canceledAfterBooking" in self.q.measures:
            columns.append("min(ord) FILTER (WHERE stage = 1) AS b1")
        if self.needs_live_sums:
            columns += [
                "sum(total) FILTER (WHERE rank = 4) AS sold",
                "sum(total) FILTER (WHERE rank = 3) AS es",
                "count(total) FILTER (WHERE rank = 3) AS en",
            ]
        state = f"{self.d.quotient('best', RANK_UNIT)}"
        named = [column.split(" AS ")[-1] for column in columns if not column.startswith("max(CAST(rank")]
        named = [f"{name} > 0 AS {name[4:]}" if name.startswith("has_") else name for name in named]
        state = f"CASE WHEN {state} = 0 THEN 5 ELSE {state} - 1 END AS state"
        return [
            f"s AS (SELECT {', '.join(columns)} FROM e GROUP BY {', '.join(keys)})",
            f"t AS (SELECT {', '.join(named)}, {state}, best % {RANK_UNIT} AS state_ord FROM s)",
        ]

    def grouped(self):
        """Returns the statement that groups events by the dimensions, without spend."""
        dims = {name: f"e.{quoted(name)}" for name in self.q.dimensions}
        if self.by_state:
            dims["adjustedType"] = "t.state"
        columns = ["e.sub AS sub"] if self.q.is_split else []
        columns += [f"{text} AS {quoted(name)}" for name, text in dims.items()]
        by = (["e.sub"] if self.q.is_split else []) + list(dims.values())
        columns += [f"{self.measure(name)} AS {quoted(name)}" for name in self.q.measures if name not in SPENDS]
        source = ["FROM e"]
        if self.by_state:
            source.append("JOIN t ON e.k = t.k" + (" AND e.sub = t.sub" if self.q.is_split else ""))
        elif self.needs_state:
            source.append("LEFT JOIN t ON e.ord = t.state_ord")
        if not self.precomputed:
            if self.needs_live_sums:
                source.append("LEFT JOIN l ON e.ord = l.state_ord")
            if self.needs_history:
                source.append("JOIN h ON e.k = h.k")
            elif self.needs_leads:
                source.append("LEFT JOIN h ON e.ord = h.f")
        if set(self.q.measures) & set(GRADES):
            source.append('LEFT JOIN (SELECT account AS graded FROM accounts WHERE "leadGrading") AS a ON e.account = a.graded')
        where = " AND ".join(self.condition(*condition) for condition in self.q.conditions)
        text = f"SELECT {', '.join(columns)}\n{' '.join(source)}"
        return text + (f"\nWHERE {where}" if where else "") + (f"\nGROUP BY {', '.join(by)}" if by else "")

    def condition(self, field, expression):
        """Returns a filter of the suite in SQL."""
        operator, operand, *_ = json.loads(expression)
        if operator == "regex":
            return self.d.regex(f"e.{quoted(field)}", operand)
        assert (field, operator) == ("total", "gte"), expression
        return f"e.total >= {operand * self.d.unit}"

    def measure(self, name):
        """Returns the expression of a measure of events."""
        where = lambda condition: f"count(*) FILTER (WHERE {condition})"
        money = lambda sum: f"coalesce({sum}, 0)"
        state = "e.ord = t.state_ord"
        if self.precomputed:
            first, reached = "e.first", lambda stage: self.d.bit("e.reached", stage)
            first_of = lambda stage: f"(e.stage = {stage} AND e.first_of_stage)"
            last_cancel, live = "e.last_cancel", "t"
        else:
            first = "e.ord = h.f" if self.needs_history else "h.f IS NOT NULL"
            reached = lambda stage: f"h.f{stage} > 0"
            first_of = lambda stage: f"e.ord = h.f{stage}"
            last_cancel, live = "h.lc", "l"
        lead = f"e.stage = 0 AND {first}"
        if name in GRADES:
            return where(f'e.stage = 0 AND e."conversionDetailedLabel" {GRADES[name]} AND a.graded IS NOT NULL')
        if name == "opportunities" and not self.q.dimensions and not self.q.conditions:
            name = "customers"
        average = self.d.half_away(f"{live}.es", f"{live}.en")
        return {
            "rows": lambda: "count(*)",
            "conversions": lambda: where("e.stage = 0"),
            "leads": lambda: where(lead),
            "soldLeads": lambda: where(f"{lead} AND {reached(3)}"),
            "closedLeads": lambda: where(f"{lead} AND {reached(4)}"),
            "bookedLeads": lambda: where(f"{lead} AND {reached(1)}"),
            "firstBooked": lambda: where(first_of(1)),
            "firstBookedEstimated": lambda: where(f"{first_of(1)} AND {reached(2)}"),
            "firstEstimated": lambda: where(first_of(2)),
            "firstEstimatedSold": lambda: where(f"{first_of(2)} AND {reached(3)}"),
            "firstSold": lambda: where(first_of(3)),
            "firstSoldClosed": lambda: where(f"{first_of(3)} AND {reached(4)}"),
            "opportunities": lambda: "count(DISTINCT e.k)",
            "customers": lambda: where(state),
            "matchedCustomers": lambda: where(f"""{state} AND e."customerStatus" <> '' AND e."customerStatus" <> 'Unmatched'"""),
            "unmatchedCustomers": lambda: where(
                f"""{state} AND (e."customerStatus" IS NULL OR e."customerStatus" IN ('', 'Unmatched'))"""
            ),
            "payingCustomers": lambda: where(f"{state} AND t.state IN (3, 4)"),
            "bookedCustomers": lambda: where(f"{state} AND t.booked"),
            "canceledCustomers": lambda: where(f"{state} AND t.canceled"),
            "canceledAfterBooking": lambda: where(f"{state} AND t.booked AND {last_cancel} > t.b1"),
            "opportunityAgents": lambda: f'count(DISTINCT CASE WHEN {state} THEN e."opportunityAgent" END)',
            "total": lambda: self.d.micros(money("sum(e.total)")),
            "closedRevenue": lambda: self.d.micros(money(f"sum(t.closed) FILTER (WHERE {state})")),
            "soldRevenue": lambda: self.d.micros(money(f"sum({live}.sold) FILTER (WHERE {state} AND t.state = 3)")),
            "estimatedRevenue": lambda: money(f"sum({average}) FILTER (WHERE {state} AND t.state = 2 AND {live}.en > 0)"),
        }[name]()
