// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-S7SFR6XF.css", include_bytes!("main-S7SFR6XF.css")),
    ("main-EIYJQV43.js", include_bytes!("main-EIYJQV43.js")),
]
