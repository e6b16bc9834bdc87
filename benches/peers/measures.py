"""The measures of each metric of the suite, and how metrics are computed from them.

The peers answer with measures: counts, and sums of money in millionths. Each metric is a measure, a sum of measures, or one such sum
divided by another, so two engines with equal measures have equal metrics. Metrics are computed here in the same way as in trueup, and
compared with its answers to the last bit.
"""

from fractions import Fraction

SPEND = ("adSpend", "managementFee")
REVENUE = ("soldRevenue", "closedRevenue")
BOOKABLE = ("bookedConversions", "bookableUnbookedConversions")

MONEY = {
    "total", "estimatedRevenue", "soldRevenue", "closedRevenue", "adSpend", "managementFee", "campaignSpend",
}  # fmt: skip
OF_SPEND = {"adSpend", "managementFee", "campaignSpend", "clicks", "impressions"}

# For each metric the measures of its numerator, and those of its denominator if the metric is a ratio.
METRICS = {
    "eventCount": (("rows",), None),
    "conversions": (("conversions",), None),
    "leads": (("leads",), None),
    "soldLeads": (("soldLeads",), None),
    "closedLeads": (("closedLeads",), None),
    "opportunityCount": (("opportunities",), None),
    "customers": (("customers",), None),
    "matchedCustomers": (("matchedCustomers",), None),
    "unmatchedCustomers": (("unmatchedCustomers",), None),
    "payingCustomers": (("payingCustomers",), None),
    "bookedCustomers": (("bookedCustomers",), None),
    "canceledCustomers": (("canceledCustomers",), None),
    "opportunityAgents": (("opportunityAgents",), None),
    "total": (("total",), None),
    "estimatedRevenue": (("estimatedRevenue",), None),
    "soldRevenue": (("soldRevenue",), None),
    "closedRevenue": (("closedRevenue",), None),
    "revenuePotential": (("estimatedRevenue", *REVENUE), None),
    "avgTicket": (REVENUE, ("payingCustomers",)),
    "spend": (SPEND, None),
    "cost": (("adSpend",), None),
    "campaignSpend": (("campaignSpend",), None),
    "clicks": (("clicks",), None),
    "impressions": (("impressions",), None),
    "avgCostPerConversion": (SPEND, ("conversions",)),
    "avgCostPerLead": (SPEND, ("leads",)),
    "avgCostPerPayingCustomer": (SPEND, ("payingCustomers",)),
    "avgCostPerBookedCustomer": (SPEND, ("bookedCustomers",)),
    "roasPotential": (("estimatedRevenue", *REVENUE), SPEND),
    "roasClosed": (("closedRevenue",), SPEND),
    "gradedConversions": (("gradedConversions",), None),
    "bookableConversions": (BOOKABLE, None),
    "bookedConversions": (("bookedConversions",), None),
    "bookableUnbookedConversions": (("bookableUnbookedConversions",), None),
    "unbookableConversions": (("unbookableConversions",), None),
    "percentConversionsGraded": (("gradedConversions",), ("conversions",)),
    "conversionQuality": (BOOKABLE, ("gradedConversions",)),
    "avgConversionsPerLead": (("conversions",), ("leads",)),
    "bookRate": (("bookedCustomers",), ("customers",)),
    "matchRate": (("matchedCustomers",), ("customers",)),
    "payingCustomerRate": (("payingCustomers",), ("customers",)),
    "customerCancelRate": (("canceledCustomers",), ("customers",)),
    "cancelRate": (("canceledAfterBooking",), ("bookedCustomers",)),
    "stepBookRate": (("bookedLeads",), ("leads",)),
    "stepEstimateRate": (("firstBookedEstimated",), ("firstBooked",)),
    "stepSoldRate": (("firstEstimatedSold",), ("firstEstimated",)),
    "stepCloseRate": (("firstSoldClosed",), ("firstSold",)),
}


class Question:
    """A question of the suite, as `trueup bench --on-request` describes it."""

    def __init__(self, described):
        self.name = described["name"]
        self.start, self.end = described["start"], described["end"]
        self.interval = described["interval"]
        self.accounts = described["accounts"]
        self.conditions = [tuple(condition) for condition in described["conditions"]]
        fields = described["fields"]
        self.dimensions = [name for name in fields if name not in METRICS]
        self.metrics = [name for name in fields if name in METRICS]
        sides = [side for name in self.metrics for side in METRICS[name] if side]
        needed = {measure for side in sides for measure in side}
        self.needs_spend = bool(needed & OF_SPEND)
        if self.needs_spend:
            # A row without events is kept if any of these is not 0.
            needed |= {"rows", "adSpend", "managementFee", "clicks", "impressions"}
        self.measures = sorted(needed)

    @property
    def is_split(self):
        return self.interval != "total"


def value(metric, measures):
    """Returns a metric as in the JSON of trueup, an int or a float; 0.0 if its denominator is 0."""
    numerator, denominator = METRICS[metric]
    above = amount(numerator, measures)
    if denominator is None:
        return float(above) if any(name in MONEY for name in numerator) else int(above)
    below = amount(denominator, measures)
    return float(above) / float(below) if below else 0.0


def amount(names, measures):
    """Returns an exact sum of measures; money in currency units."""
    total = sum(measures[name] for name in names)
    return Fraction(total, 10**6) if names[0] in MONEY else Fraction(total)
