// Made by `npm run build` in `crates/trueup-server/web`.
[
    ("main-LYLG5DRD.css", include_bytes!("main-LYLG5DRD.css")),
    ("main-V5LYBGOQ.js", include_bytes!("main-V5LYBGOQ.js")),
]
