// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-NOB3PBBZ.css", include_bytes!("main-NOB3PBBZ.css")),
    ("main-NUBHXCAH.js", include_bytes!("main-NUBHXCAH.js")),
]
