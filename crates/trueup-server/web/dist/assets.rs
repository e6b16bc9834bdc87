// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-NOB3PBBZ.css", include_bytes!("main-NOB3PBBZ.css")),
    ("main-C3MR5FCQ.js", include_bytes!("main-C3MR5FCQ.js")),
]
