// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-LYLG5DRD.css", include_bytes!("main-LYLG5DRD.css")),
    ("main-2G2JM232.js", include_bytes!("main-2G2JM232.js")),
]
