// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-LYLG5DRD.css", include_bytes!("main-LYLG5DRD.css")),
    ("main-62ZUSG2J.js", include_bytes!("main-62ZUSG2J.js")),
]
