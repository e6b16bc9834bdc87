// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-NOB3PBBZ.css", include_bytes!("main-NOB3PBBZ.css")),
    ("main-SJ4Q25CD.js", include_bytes!("main-SJ4Q25CD.js")),
]
