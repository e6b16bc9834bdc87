// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-NOB3PBBZ.css", include_bytes!("main-NOB3PBBZ.css")),
    ("main-4GEE6ZSE.js", include_bytes!("main-4GEE6ZSE.js")),
]
