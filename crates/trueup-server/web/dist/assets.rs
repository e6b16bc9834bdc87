// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-LYLG5DRD.css", include_bytes!("main-LYLG5DRD.css")),
    ("main-SFOKW6KN.js", include_bytes!("main-SFOKW6KN.js")),
]
