// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-NOB3PBBZ.css", include_bytes!("main-NOB3PBBZ.css")),
    ("main-WHS55U3E.js", include_bytes!("main-WHS55U3E.js")),
]
