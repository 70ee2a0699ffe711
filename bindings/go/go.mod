module github.com/fulgurite/fulgurite/bindings/go

go 1.24
