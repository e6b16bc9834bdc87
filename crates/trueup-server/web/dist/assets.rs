// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-NOB3PBBZ.css", include_bytes!("main-NOB3PBBZ.css")),
    ("main-U5IDLQXB.js", include_bytes!("main-U5IDLQXB.js")),
]
