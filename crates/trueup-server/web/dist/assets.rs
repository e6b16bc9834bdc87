// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-NOB3PBBZ.css", include_bytes!("main-NOB3PBBZ.css")),
    ("main-5GT7I5HI.js", include_bytes!("main-5GT7I5HI.js")),
]
