// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-NQJQSYQN.css", include_bytes!("main-NQJQSYQN.css")),
    ("main-MT2WPLB3.js", include_bytes!("main-MT2WPLB3.js")),
]
