// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-UYJJMSD7.css", include_bytes!("main-UYJJMSD7.css")),
    ("main-O7I6G345.js", include_bytes!("main-O7I6G345.js")),
]
