// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-NOB3PBBZ.css", include_bytes!("main-NOB3PBBZ.css")),
    ("main-AD4B45RU.js", include_bytes!("main-AD4B45RU.js")),
]
