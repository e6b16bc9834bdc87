// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-VLXLTG3C.css", include_bytes!("main-VLXLTG3C.css")),
    ("main-55JIKJ5F.js", include_bytes!("main-55JIKJ5F.js")),
]
