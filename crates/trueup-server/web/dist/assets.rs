// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-LYLG5DRD.css", include_bytes!("main-LYLG5DRD.css")),
    ("main-XOWFK6AE.js", include_bytes!("main-XOWFK6AE.js")),
]
