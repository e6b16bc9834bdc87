// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-NOB3PBBZ.css", include_bytes!("main-NOB3PBBZ.css")),
    ("main-GWK2DKED.js", include_bytes!("main-GWK2DKED.js")),
]
