// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-NOB3PBBZ.css", include_bytes!("main-NOB3PBBZ.css")),
    ("main-Z6T5JVTI.js", include_bytes!("main-Z6T5JVTI.js")),
]
