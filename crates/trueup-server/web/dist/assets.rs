// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-LYLG5DRD.css", include_bytes!("main-LYLG5DRD.css")),
    ("main-FHQ54FOQ.js", include_bytes!("main-FHQ54FOQ.js")),
]
