// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-ATC5XY26.css", include_bytes!("main-ATC5XY26.css")),
    ("main-YMCM5TC4.js", include_bytes!("main-YMCM5TC4.js")),
]
