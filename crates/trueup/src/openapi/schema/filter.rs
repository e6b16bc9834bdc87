//! OtherParameters across fields.

use super::super::node::{JsonValue, object, reference, texts};
use super::{meant, typed};

pub(super) fn schemas() -> Vec<(&'static str, JsonValue)> {
    let conditions =
        typed("object").with("minProperties", 1_usize).with("additionalProperties", reference("schemas", "Expression"));
    let joined = meant("array", "`or`, `and` or `not`, and what it joins: objects, or such lists again.");
    let filter = object([("oneOf", vec![conditions, joined].into())]).with(
        "description",
        "An object of fields and expressions, all of which have to hold, or a list that joins such objects.",
    );
    let expression = object([("type", texts(["string", "number", "boolean", "null", "array"]))]).with(
        "description",
        "What holds of a field's value: the value itself (`null` is the empty text), or a list: `or`, `and`, `not` and \
         expressions; `eq`, `ne` and a value; `gt`, `gte`, `lt`, `lte` and a number or a text; `regex`, a pattern and flags; \
         `empty`; `notEmpty`.",
    );
    vec![("Filter", filter), ("Expression", expression)]
}
