// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-NOB3PBBZ.css", include_bytes!("main-NOB3PBBZ.css")),
    ("main-KGSOOHYJ.js", include_bytes!("main-KGSOOHYJ.js")),
]
